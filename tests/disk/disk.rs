//! A disk as the power leaves it: what was flushed is there; of what was not, anything may be.

use crate::shim::Op;

/// A disk promises that a sector is written whole or not at all.
const SECTOR: usize = 512;

/// What becomes of what was not flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    None,
    All,
    /// Each write by chance, so that a later one may be there without an earlier one.
    Some,
    /// The writes up to one, and some sectors of that one.
    Torn,
}

pub const LOSSES: [Loss; 4] = [Loss::None, Loss::All, Loss::Some, Loss::Torn];

/// Whether the disk means it when it says that it has flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    Honest,
    Lied,
}

#[derive(Clone, Default)]
struct File {
    flushed: Option<Vec<u8>>,
    since: Vec<Change>,
}

#[derive(Clone)]
enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Truncate(usize),
}

pub struct Disk(Vec<File>);

impl Disk {
    /// A disk that holds these files.
    pub fn of(base: &[(String, Vec<u8>)]) -> Disk {
        let file = |bytes: &Vec<u8>| File { flushed: Some(bytes.clone()), since: Vec::new() };
        Disk(base.iter().map(|(_, bytes)| file(bytes)).collect())
    }

    pub fn hear(&mut self, op: &Op, flush: Flush) {
        match op {
            Op::Create { file } => {
                self.file(*file).flushed.get_or_insert_default();
            }
            Op::Write { file, at, bytes } => {
                let change = Change::Write { at: *at, bytes: bytes.clone() };
                self.file(*file).since.push(change);
            }
            Op::Truncate { file, size } => self.file(*file).since.push(Change::Truncate(*size)),
            Op::Sync { file } if flush == Flush::Honest => self.file(*file).flush(),
            Op::Delete { file } => *self.file(*file) = File::default(),
            Op::Sync { .. } | Op::Ack(_) => {}
        }
    }

    fn file(&mut self, n: usize) -> &mut File {
        if self.0.len() <= n {
            self.0.resize_with(n + 1, File::default);
        }
        &mut self.0[n]
    }

    pub fn has_unsynced(&self) -> bool {
        self.0.iter().any(|file| !file.since.is_empty())
    }

    /// The files that are found; `names` are those of all there were, by number.
    pub fn after(
        &self,
        names: &[String],
        loss: Loss,
        random: &mut fastrand::Rng,
    ) -> Vec<(String, Vec<u8>)> {
        let files = names.iter().zip(&self.0);
        let found = files.map(|(name, file)| Some((name.clone(), file.after(loss, random)?)));
        found.flatten().collect()
    }
}

impl File {
    fn flush(&mut self) {
        let now = self.flushed.get_or_insert_default();
        self.since.drain(..).for_each(|change| change.apply(now));
    }

    fn after(&self, loss: Loss, random: &mut fastrand::Rng) -> Option<Vec<u8>> {
        let mut now = self.flushed.clone()?;
        let torn = random.usize(0..=self.since.len());
        for (n, change) in self.since.iter().enumerate() {
            match loss {
                Loss::All => {}
                Loss::None => change.apply(&mut now),
                Loss::Some if random.bool() => change.apply(&mut now),
                Loss::Torn if n < torn => change.apply(&mut now),
                Loss::Torn if n == torn => change.apply_some(&mut now, random),
                Loss::Some | Loss::Torn => {}
            }
        }
        Some(now)
    }
}

impl Change {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Change::Write { at, bytes } => write(to, *at, bytes),
            Change::Truncate(size) => to.truncate(*size),
        }
    }

    fn apply_some(&self, to: &mut Vec<u8>, random: &mut fastrand::Rng) {
        let Change::Write { at, bytes } = self else { return };
        let mut from = 0;
        while from < bytes.len() {
            // Up to the end of its sector on the disk.
            let until = ((at + from) / SECTOR + 1) * SECTOR - at;
            let until = until.min(bytes.len());
            if random.bool() {
                write(to, at + from, &bytes[from..until]);
            }
            from = until;
        }
    }
}

fn write(to: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    if to.len() < end {
        to.resize(end, 0);
    }
    to[at..end].copy_from_slice(bytes);
}
