//! Bytes as choices: the same bytes choose the same. When they are used up, all choices are the
//! first one.

/// What is left of an input.
pub struct Bytes<'b>(pub &'b [u8]);

impl<'b> Bytes<'b> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.number() as usize % end
    }

    pub fn number(&mut self) -> u32 {
        u32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    /// As many bytes as the next one says, or all that are left.
    pub fn piece(&mut self) -> &'b [u8] {
        let length = match self.byte() {
            255 => self.0.len(),
            length => usize::from(length).min(self.0.len()),
        };
        let (piece, rest) = self.0.split_at(length);
        self.0 = rest;
        piece
    }

    /// The same as text; what is no UTF-8 is replaced.
    pub fn text(&mut self) -> String {
        String::from_utf8_lossy(self.piece()).into_owned()
    }

    /// A text or none.
    pub fn maybe(&mut self) -> Option<String> {
        (self.byte() % 2 == 1).then(|| self.text())
    }
}
