//! Who holds which of SQLite's locks, as the system lists them: the moments of a write, a
//! checkpoint and a recovery are seen from outside, without a word from the process.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Bytes of the shared-memory file that SQLite locks.
const WRITE: u64 = 120;
const CHECKPOINT: u64 = 121;
const RECOVER: u64 = 122;

/// The first of the bytes of the database file that SQLite locks.
const PENDING: u64 = 0x4000_0000;

/// What a process is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Midst {
    Write,
    Checkpoint,
    /// Recovery of the log, or the switch to it.
    Opening,
}

/// Looks at one file.
pub struct Eye {
    db: PathBuf,
}

impl Eye {
    pub fn on(db: &Path) -> Eye {
        Eye { db: db.to_owned() }
    }

    /// Whoever is in the middle of this, by process id.
    pub fn who(&self, midst: Midst) -> Vec<u32> {
        self.seen().into_iter().filter(|(_, seen)| *seen == midst).map(|(pid, _)| pid).collect()
    }

    /// Whether a process keeps others out: frozen now, it would for as long as it is frozen.
    pub fn keeps_others_out(&self, pid: u32) -> bool {
        self.seen().iter().any(|(who, _)| *who == pid)
    }

    pub fn is_in(&self, pid: u32, midst: Midst) -> bool {
        self.seen().contains(&(pid, midst))
    }

    fn seen(&self) -> Vec<(u32, Midst)> {
        let inode = |path: &Path| std::fs::metadata(path).ok().map(|file| file.ino());
        let mut shm = self.db.clone().into_os_string();
        shm.push("-shm");
        let (db, shm) = (inode(&self.db), inode(Path::new(&shm)));
        let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
        let mut seen = Vec::new();
        for lock in locks.lines().filter_map(Lock::read) {
            if Some(lock.inode) == shm {
                let all = [
                    (WRITE, Midst::Write),
                    (CHECKPOINT, Midst::Checkpoint),
                    (RECOVER, Midst::Opening),
                ];
                let held = all.into_iter().filter(|(byte, _)| lock.covers(*byte));
                seen.extend(held.map(|(_, midst)| (lock.pid, midst)));
            } else if Some(lock.inode) == db && lock.to >= PENDING {
                seen.push((lock.pid, Midst::Opening));
            }
        }
        seen
    }
}

/// One exclusive lock that somebody holds.
struct Lock {
    pid: u32,
    inode: u64,
    from: u64,
    to: u64,
}

impl Lock {
    /// `1: POSIX  ADVISORY  WRITE 4711 fe:00:123456 120 120`; whoever waits has an arrow.
    fn read(line: &str) -> Option<Lock> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "POSIX", _, "WRITE", pid, file, from, to] = words[..] else { return None };
        let inode = file.rsplit(':').next()?.parse().ok()?;
        let to = if to == "EOF" { u64::MAX } else { to.parse().ok()? };
        Some(Lock { pid: pid.parse().ok()?, inode, from: from.parse().ok()?, to })
    }

    fn covers(&self, byte: u64) -> bool {
        (self.from..=self.to).contains(&byte)
    }
}

#[test]
fn it_sees_a_write_of_another_process_by_the_systems_own_list() {
    let line = "12: POSIX  ADVISORY  WRITE 4711 fe:00:123456 120 121";
    let lock = Lock::read(line).expect("a lock");
    assert_eq!((lock.pid, lock.inode), (4711, 123_456));
    assert!(lock.covers(WRITE) && lock.covers(CHECKPOINT) && !lock.covers(RECOVER));
    assert!(Lock::read("12: -> POSIX  ADVISORY  WRITE 4711 fe:00:123456 120 121").is_none());
    assert!(Lock::read("12: POSIX  ADVISORY  READ 4711 fe:00:123456 123 123").is_none());
    let dir = tempfile::tempdir().expect("a directory");
    let db = dir.path().join("crm.db");
    let conn = rusqlite::Connection::open(&db).expect("a file");
    conn.execute_batch("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE").expect("a write");
    let eye = Eye::on(&db);
    assert_eq!(eye.who(Midst::Write), [std::process::id()]);
    assert!(eye.is_in(std::process::id(), Midst::Write));
    conn.execute_batch("COMMIT").expect("an end");
    assert!(eye.who(Midst::Write).is_empty() && !eye.keeps_others_out(std::process::id()));
}
