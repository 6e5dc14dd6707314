//! What may become of a file: flipped bits, lost and foreign pages, a header of nonsense, a cut, a
//! log of nonsense beside it. All of it by a seed.

use std::path::Path;

use fastrand::Rng;

use crate::shop::FILE;

/// What a database is when it lies there.
#[derive(Clone)]
pub struct Files {
    pub name: &'static str,
    pub database: Vec<u8>,
    /// What was not taken over into the database yet.
    pub log: Vec<u8>,
    /// What SQLite may find beside them: `-shm`, `-journal`.
    pub beside: Vec<(&'static str, Vec<u8>)>,
}

impl Files {
    /// Puts them into a directory.
    pub fn put(&self, dir: &Path) {
        let write = |end: &str, bytes: &[u8]| {
            let path = dir.join(format!("{FILE}{end}"));
            std::fs::write(&path, bytes).expect("written");
            let owners = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(path, owners).expect("its owner's");
        };
        write("", &self.database);
        if !self.log.is_empty() {
            write("-wal", &self.log);
        }
        self.beside.iter().for_each(|(end, bytes)| write(end, bytes));
    }
}

/// A way to damage files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// None: what is said then must all be right.
    None,
    Bits,
    Bytes,
    ZeroedPages,
    SwappedPages,
    /// The part of a page that says where its cells are.
    PageHeads,
    /// The part of the file that says what it is.
    Header,
    ForeignPage,
    Cut,
    Longer,
    /// The log of the file.
    Log,
    /// Nonsense where SQLite keeps its log, its index and its journal.
    Beside,
}

pub const DAMAGES: [Damage; 12] = [
    Damage::None,
    Damage::Bits,
    Damage::Bytes,
    Damage::ZeroedPages,
    Damage::SwappedPages,
    Damage::PageHeads,
    Damage::Header,
    Damage::ForeignPage,
    Damage::Cut,
    Damage::Longer,
    Damage::Log,
    Damage::Beside,
];

const PAGE: usize = 4_096;

impl Damage {
    /// Whether the database itself is as it was: then what it holds must be told as it is.
    pub fn spares_the_database(self) -> bool {
        matches!(self, Damage::None | Damage::Log | Damage::Beside)
    }

    /// Does it to `files`; `other` is where foreign pages come from.
    pub fn strike(self, files: &mut Files, other: &Files, random: &mut Rng) {
        let database = &mut files.database;
        match self {
            Damage::None => {}
            Damage::Bits => flip(database, random),
            Damage::Bytes => nonsense(some(database, 64, random), random),
            Damage::ZeroedPages => {
                (0..random.usize(1..5)).for_each(|_| page(database, random).fill(0));
            }
            Damage::SwappedPages => swap(database, PAGE, random),
            Damage::PageHeads => {
                let head = &mut page(database, random)[..12];
                nonsense(some(head, 4, random), random);
            }
            Damage::Header => header(&mut database[..100], random),
            Damage::ForeignPage => {
                let from = &mut other.database.clone();
                page(database, random).copy_from_slice(page(from, random));
            }
            Damage::Cut => database.truncate(random.usize(..database.len())),
            Damage::Longer => {
                let more = random.usize(1..3 * PAGE);
                database.extend(std::iter::repeat_with(|| random.u8(..)).take(more));
            }
            Damage::Log => log(&mut files.log, random),
            Damage::Beside => beside(files, random),
        }
    }
}

fn flip(bytes: &mut [u8], random: &mut Rng) {
    for _ in 0..random.usize(1..9) {
        bytes[random.usize(..bytes.len())] ^= 1 << random.u32(..8);
    }
}

/// A piece of at most so many bytes.
fn some<'b>(bytes: &'b mut [u8], most: usize, random: &mut Rng) -> &'b mut [u8] {
    let length = random.usize(1..=most);
    let from = random.usize(..bytes.len() - length);
    &mut bytes[from..from + length]
}

fn nonsense(bytes: &mut [u8], random: &mut Rng) {
    match random.u8(..4) {
        0 => bytes.fill(0),
        1 => bytes.fill(0xff),
        _ => random.fill(bytes),
    }
}

/// A page that is not the first one's header, which has damages of its own.
fn page<'b>(bytes: &'b mut [u8], random: &mut Rng) -> &'b mut [u8] {
    let pages = bytes.len() / PAGE;
    let from = PAGE * random.usize(..pages);
    let skipped = if from == 0 { 100 } else { 0 };
    let from = from.min(bytes.len() - PAGE);
    if skipped == 0 { &mut bytes[from..from + PAGE] } else { &mut bytes[PAGE..2 * PAGE] }
}

fn swap(bytes: &mut [u8], unit: usize, random: &mut Rng) {
    let units = bytes.len() / unit;
    let (one, other) = (random.usize(..units), random.usize(..units));
    for at in 0..unit {
        bytes.swap(one * unit + at, other * unit + at);
    }
}

/// One field of the first hundred bytes, or a few.
fn header(bytes: &mut [u8], random: &mut Rng) {
    const FIELDS: [(usize, usize); 12] = [
        (0, 16),
        (16, 2),
        (18, 1),
        (19, 1),
        (20, 1),
        (28, 4),
        (32, 4),
        (36, 4),
        (40, 4),
        (44, 4),
        (52, 4),
        (56, 4),
    ];
    for _ in 0..random.usize(1..4) {
        let (at, length) = FIELDS[random.usize(..FIELDS.len())];
        nonsense(&mut bytes[at..at + length], random);
    }
}

fn log(log: &mut Vec<u8>, random: &mut Rng) {
    const FRAME: usize = 24 + PAGE;
    if log.is_empty() {
        return;
    }
    match random.u8(..6) {
        0 => flip(log, random),
        1 => log.truncate(random.usize(..log.len())),
        2 => nonsense(some(log, 3 * FRAME, random), random),
        3 => swap(&mut log[32..], FRAME, random),
        4 => nonsense(&mut log[..32], random),
        _ => log.clear(),
    }
}

fn beside(files: &mut Files, random: &mut Rng) {
    let mut bytes = |most| {
        let length = random.usize(1..most);
        std::iter::repeat_with(|| random.u8(..)).take(length).collect::<Vec<u8>>()
    };
    let (log, index, journal) = (bytes(40_000), bytes(70_000), bytes(10_000));
    if files.log.is_empty() && random.bool() {
        files.log = log;
    }
    if random.bool() {
        files.beside.push(("-shm", index));
    }
    if random.bool() {
        files.beside.push(("-journal", journal));
    }
}
