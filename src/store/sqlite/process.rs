//! A process that holds leases: its row, and the lock on a file of its own that proves it alive.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use super::route_note;
use super::tx::Tx;
use crate::error::{Error, Result};
use crate::model::id::{JobId, ProcessNo};
use crate::store::bus::InRoute;

const PROCESS_NEW: &str =
    "INSERT INTO lanebox_process(uuid, boot, os, pid, started_at) VALUES (?1, ?2, ?3, ?4, ?5)";
const PROCESS_GONE: &str = "UPDATE lanebox_process SET gone = 1 WHERE id = ?1 AND gone = 0";
const PROCESS_OF_JOB: &str = "SELECT p.uuid FROM lanebox_job j CROSS JOIN lanebox_running r ON r.id = j.id CROSS JOIN lanebox_process p ON p.id = r.process \
WHERE j.uuid = ?1 AND r.holder = 'thread'";
const PROCESS_LIVING: &str = "SELECT id, uuid, boot FROM lanebox_process WHERE gone = 0";

/// A process that nobody has marked as gone.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) no: ProcessNo,
    pub(super) uuid: Uuid,
    pub(super) boot: String,
}

/// The lock of one process: held while the file is open, released by the system when the process
/// ends, however it ends.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
}

/// Whether a process still holds its lock.
#[derive(Debug)]
pub(super) enum Alive {
    Yes,
    /// Its lock could be taken: it is gone. The lock is kept until its leases are.
    No(Lock),
    /// Its file is missing: only its leases can tell.
    CannotTell,
}

fn path_of(database: &Path, uuid: Uuid) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(format!("-process-{uuid}"));
    name.into()
}

impl Lock {
    /// Makes and locks the file of a new process.
    pub(super) fn make(database: &Path, uuid: Uuid) -> Result<Lock> {
        let path = path_of(database, uuid);
        let file = new_file(&path).map_err(|e| {
            Error::io(format!("the lock file {} of this process", path.display()), e)
        })?;
        match file.try_lock() {
            Ok(()) => {
                let lock = Lock { file, path };
                // At once, so that no later note needs a new block of a disk that is full by then.
                match lock.note(None) {
                    Ok(()) => Ok(lock),
                    Err(error) => {
                        lock.remove();
                        Err(error)
                    }
                }
            }
            Err(std::fs::TryLockError::Error(e)) => {
                Err(Error::io(format!("locking {}", path.display()), e))
            }
            Err(std::fs::TryLockError::WouldBlock) => Err(Error::Unusable {
                path,
                why: "this new lock file is already locked: another program interferes".to_owned(),
            }),
        }
    }

    /// Asks whether the process of this uuid still lives.
    pub(super) fn probe(database: &Path, uuid: Uuid) -> Alive {
        let path = path_of(database, uuid);
        let Ok(file) = OpenOptions::new().read(true).write(true).open(&path) else {
            return Alive::CannotTell;
        };
        match file.try_lock() {
            Ok(()) => Alive::No(Lock { file, path }),
            Err(std::fs::TryLockError::WouldBlock) => Alive::Yes,
            Err(std::fs::TryLockError::Error(_)) => Alive::CannotTell,
        }
    }

    /// Writes which route the process is in, so that it survives the process.
    pub(super) fn note(&self, at: Option<&InRoute>) -> Result<()> {
        let path = &self.path;
        route_note::write(&self.file, at)
            .map_err(|e| Error::io(format!("writing the lock file {}", path.display()), e))
    }

    /// The route that the process was in when it ended.
    pub(super) fn last_route(&self) -> Option<InRoute> {
        route_note::read(&self.file)
    }

    /// Its process is marked gone: nobody needs the file any more.
    pub(super) fn remove(self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(%error, path = %self.path.display(), "could not remove a lock file");
        }
        drop(self.file);
    }
}

fn new_file(path: &Path) -> std::io::Result<File> {
    let mut how = OpenOptions::new();
    how.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut how, 0o600);
    how.open(path)
}

/// Every process that is not marked as gone.
pub(super) fn living(conn: &Connection) -> Result<Vec<Known>> {
    let mut statement = conn.prepare_cached(PROCESS_LIVING)?;
    let rows = statement.query_map([], |row| {
        Ok(Known { no: row.get(0)?, uuid: Uuid::from_bytes(row.get(1)?), boot: row.get(2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The process that runs a job, if one does.
pub(super) fn of_job(conn: &Connection, job: JobId) -> Result<Option<Uuid>> {
    let mut statement = conn.prepare_cached(PROCESS_OF_JOB)?;
    let uuid = statement.query_row([job.0.as_bytes()], |row| row.get(0)).optional()?;
    Ok(uuid.map(Uuid::from_bytes))
}

/// Writes the row of this process.
pub(super) fn register(tx: &Tx<'_>, uuid: Uuid) -> Result<ProcessNo> {
    let (os, pid) = (tx.env.os_process(), i64::from(std::process::id()));
    tx.run(PROCESS_NEW, params![uuid.as_bytes(), tx.env.boot(), os.as_bytes(), pid, tx.now])?;
    Ok(ProcessNo(tx.last_row()))
}

/// The process is gone: its leases may be taken at once.
pub(super) fn mark_gone(tx: &Tx<'_>, process: ProcessNo) -> Result<bool> {
    Ok(tx.run(PROCESS_GONE, [process])? > 0)
}
