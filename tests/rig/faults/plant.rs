//! Writes the faults into the source. Each change is behind the switch of its fault, so that all of
//! them stand in one build.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::read::{Change, Fault, ROOT};

/// Where statements are prepared, and where the tables are made.
const DOORS: [(&str, &str, &str); 3] = [
    (
        "src/store/sqlite/tx.rs",
        "None => self.conn.prepare_cached(sql)?,",
        "None => self.conn.prepare_cached(&crate::planted::sql(sql))?,",
    ),
    (
        "src/store/sqlite/migrate.rs",
        "tx.execute_batch(step)?;",
        "tx.execute_batch(&crate::planted::sql(step))?;",
    ),
    (
        "src/store/sqlite/foreign.rs",
        "STEPS.iter().try_for_each(|step| conn.execute_batch(step))?;",
        "STEPS.iter().try_for_each(|step| conn.execute_batch(&crate::planted::sql(step)))?;",
    ),
];

/// The switch: one fault a process, named by its environment.
const SWITCH: &str = r#"//! Which planted fault is switched on.

use std::sync::LazyLock;

static ON: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("LANEBOX_FAULT").ok());

/// Whether it is this one.
pub fn is(fault: &str) -> bool {
    ON.as_deref() == Some(fault)
}

pub(crate) fn sql(text: &str) -> String {
    let mut text = text.to_owned();
    for (fault, from, to) in STATEMENTS {
        if is(fault) {
            text = text.replace(from, to);
        }
    }
    text
}
"#;

/// The files that the faults change, with all of them in. An error names those whose place is gone.
pub(crate) fn all(faults: &[Fault]) -> Result<BTreeMap<String, String>, String> {
    let mut files: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let (mut statements, mut wrong) = (String::new(), Vec::new());
    for (file, from, to) in DOORS {
        let lines = files.entry(file).or_insert_with(|| lines_of(file));
        if !replace(lines, &[from.to_owned()], &[to.to_owned()]) {
            wrong.push(format!("{file}: the door {from:?} is gone"));
        }
    }
    for fault in faults {
        for change in &fault.changes {
            let lines = files.entry(&change.file).or_insert_with(|| lines_of(&change.file));
            if let Err(why) = plant(lines, &mut statements, fault, change) {
                wrong.push(format!("{}: {}: {why}", fault.name, change.file));
            }
        }
    }
    if !wrong.is_empty() {
        return Err(format!("these faults have no place any more:\n{}", wrong.join("\n")));
    }
    let lib = files.entry("src/lib.rs").or_insert_with(|| lines_of("src/lib.rs"));
    lib.push("#[doc(hidden)]\npub mod planted;".to_owned());
    let switch =
        format!("{SWITCH}\nconst STATEMENTS: &[(&str, &str, &str)] = &[\n{statements}];\n");
    let files = files.into_iter().map(|(file, lines)| (file.to_owned(), lines.join("\n") + "\n"));
    Ok(files.chain([("src/planted.rs".to_owned(), switch)]).collect())
}

fn plant(
    lines: &mut [String],
    statements: &mut String,
    fault: &Fault,
    change: &Change,
) -> Result<(), String> {
    if change.is_sql {
        let (from, to) = (change.from.join(" "), change.to.join(" "));
        let text = lines.join("\n");
        // As the compiler joins them.
        let joined = text.split("\\\n").map(str::trim_start).collect::<String>();
        if !joined.contains(&from) && !text.contains(&from) {
            return Err(format!("no statement says {from:?}"));
        }
        writeln!(statements, "    ({:?}, {from:?}, {to:?}),", fault.name).expect("a string");
        return Ok(());
    }
    let library = if change.file.starts_with("src/bin/") { "lanebox" } else { "crate" };
    let to: Vec<String> =
        change.to.iter().map(|line| switched(line, library, &fault.name)).collect();
    match replace(lines, &change.from, &to) {
        true => Ok(()),
        false => Err(format!("{:?} is not there once", change.from.join(" "))),
    }
}

/// `FAULT` and `FAULT(name)` as the code that asks for them.
fn switched(line: &str, library: &str, own: &str) -> String {
    let mut pieces = line.split("FAULT");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let named = piece.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let (name, rest) = named.unwrap_or((own, piece));
        write!(text, "{library}::planted::is({name:?}){rest}").expect("a string");
    }
    text
}

/// Replaces lines that stand together, in one place only.
fn replace(lines: &mut [String], from: &[String], to: &[String]) -> bool {
    let places: Vec<usize> = (0..(lines.len() + 1).saturating_sub(from.len()))
        .filter(|&at| lines[at..at + from.len()].iter().zip(from).all(|(a, b)| a.trim() == b))
        .collect();
    let [at] = places[..] else { return false };
    lines[at..at + from.len()].iter_mut().for_each(String::clear);
    lines[at] = to.join("\n");
    true
}

fn lines_of(file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(Path::new(ROOT).join(file));
    text.unwrap_or_default().lines().map(str::to_owned).collect()
}
