//! Aligned columns without borders. Every cell is made safe for a screen here, and nowhere else.

use super::text;

/// A table under construction.
pub struct Table {
    table: comfy_table::Table,
}

impl Table {
    /// With these columns.
    pub fn of(columns: &[&str]) -> Table {
        let mut table = Table::plain();
        table.table.set_header(columns.iter().map(|column| column.to_uppercase()));
        table
    }

    /// Names and values, without a header.
    pub fn plain() -> Table {
        let mut table = comfy_table::Table::new();
        table.load_preset(comfy_table::presets::NOTHING);
        Table { table }
    }

    /// One row.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.table.add_row(cells.iter().map(|cell| text::cell(cell)));
        self.align();
    }

    /// A name and its value, in full length.
    pub fn fact(&mut self, name: &str, value: impl AsRef<str>) {
        self.table.add_row([text::shown(name), text::shown(value.as_ref())]);
        self.align();
    }

    /// A name and its value, if there is one.
    pub fn maybe(&mut self, name: &str, value: Option<impl AsRef<str>>) {
        if let Some(value) = value {
            self.fact(name, value);
        }
    }

    /// Figures end at the right edge of their columns; the first column says what they are of.
    pub fn right(&mut self) {
        for column in self.table.column_iter_mut().skip(1) {
            column.set_cell_alignment(comfy_table::CellAlignment::Right);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.table.row_count() == 0
    }

    // The first column begins at the left edge.
    fn align(&mut self) {
        if let Some(column) = self.table.column_mut(0) {
            column.set_padding((0, 1));
        }
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lines = self.table.lines().map(|line| line.trim_end().to_owned());
        f.write_str(&lines.collect::<Vec<_>>().join("\n"))
    }
}
