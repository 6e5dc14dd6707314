//! What can go wrong, as cases that a caller can act on. Losing a race or a lease is not here:
//! those are values.

use std::path::PathBuf;

/// The answer of every fallible call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. Each text says what happened, what was not lost, and what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input breaks a rule. Nothing was written.
    #[error("{what}: {why}; nothing was stored")]
    Invalid {
        /// What was looked at, e.g. `event name`.
        what: &'static str,
        /// Which rule it breaks.
        why: String,
    },
    /// A dedupe or once key was used before with another payload. The first one stands.
    #[error(
        "{what} was used before with another payload; the first one stands and nothing was stored"
    )]
    Conflict {
        /// The kind of key.
        what: &'static str,
    },
    /// Something in the file does not have the shape that the code asks for. It was not changed.
    #[error("{what} cannot be read: {why}; it is kept as it is, mend the code that reads it")]
    Undecodable {
        /// What was read.
        what: &'static str,
        /// What did not fit, without the text itself.
        why: String,
    },
    /// Nothing of that id is in the file.
    #[error("no {what} {id} in this file; nothing was changed")]
    NotFound {
        /// job, event, send, notice, consumer …
        what: &'static str,
        /// As it was asked for.
        id: String,
    },
    /// It exists, but not in a state in which this can be done. Nothing was changed.
    #[error("{what}: {why}; nothing was changed")]
    Refused {
        /// What was asked.
        what: String,
        /// Why it cannot be done now, and what can.
        why: String,
    },
    /// The file cannot be used by this program. It was not changed.
    #[error("{path}: {why}; the file was not changed", path = .path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        why: String,
    },
    /// A setting is out of its bounds.
    #[error("setting {what}: {why}")]
    Setting {
        /// Its name.
        what: &'static str,
        /// Its bounds.
        why: String,
    },
    /// Another program held the write lock longer than the busy deadline. Nothing was stored; try
    /// again.
    #[error(
        "the file was locked by another program for longer than {waited_ms} ms; nothing was stored, try again"
    )]
    Busy {
        /// How long this call waited, in milliseconds.
        waited_ms: u64,
    },
    /// Every connection for reading is in use.
    #[error(
        "no connection for reading became free: {why}; nothing was read, finish other reads first"
    )]
    NoReader {
        /// What the pool says.
        why: String,
    },
    /// The host's closure ended the transaction itself (COMMIT, ROLLBACK, ON CONFLICT ROLLBACK).
    /// What it committed itself stands; all else of the call was rolled back.
    #[error(
        "the closure ended the transaction itself (COMMIT, ROLLBACK or ON CONFLICT ROLLBACK); what it committed itself stands, \
         all else of the call was rolled back: leave COMMIT and ROLLBACK to Lanebox and return an error instead"
    )]
    TransactionEnded,
    /// The disk is full. Nothing of this call was stored; what was acknowledged before is kept.
    #[error(
        "the disk is full; nothing of this call was stored, what was acknowledged before is kept: free some space"
    )]
    DiskFull(#[source] rusqlite::Error),
    /// Too little room is left on the disk for anything new. Nothing of this call was stored; what
    /// was accepted before is kept, and what runs is still recorded.
    #[error(
        "the disk is full: {free} bytes are free and {needed} must be; nothing of this call was stored, what was accepted \
         before is kept and what runs is still recorded: free some space, then call again"
    )]
    NoRoom {
        /// Bytes that are free.
        free: u64,
        /// From how many free bytes on new facts are accepted again.
        needed: u64,
    },
    /// A read was ended because it took too long: while it lasts, the write-ahead log cannot be
    /// emptied.
    #[error(
        "the read took longer than {longest_ms} ms and was ended, for the write-ahead log cannot be emptied meanwhile; \
         nothing was changed, ask for less (a narrower filter, a smaller page)"
    )]
    ReadTooLong {
        /// How long a read may take, in milliseconds.
        longest_ms: u64,
    },
    /// COMMIT returned an error: it may or may not hold. What was acknowledged before is kept.
    #[error(
        "the commit reported an error ({0}), so it may or may not hold; what was acknowledged before is kept: \
         repeat the call with the same dedupe key"
    )]
    CommitUnknown(#[source] rusqlite::Error),
    /// The handle is closed for good after a failed flush.
    #[error(
        "this handle is closed: {cause}; what was acknowledged before is kept, open the file again"
    )]
    Closed {
        /// The first error.
        cause: String,
    },
    /// SQLite finds the file damaged, or it holds what the schema does not let anybody store.
    #[error(
        "the file is damaged ({0}); nothing of this call was stored: stop writing to it and restore a backup"
    )]
    Damaged(#[source] rusqlite::Error),
    /// SQLite refused for another reason. The transaction was rolled back.
    #[error(
        "SQLite: {0}; the transaction was rolled back, nothing of it was stored: `lanebox doctor` says whether the file is sound"
    )]
    Sqlite(#[source] rusqlite::Error),
    /// The operating system refused.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// SQLite ended the transaction for an error of another member. Nothing of this call was
    /// stored; repeat it.
    #[error(
        "the transaction was rolled back because of another error in it; nothing of this call was stored, repeat it"
    )]
    RolledBack,
    /// A broken invariant of Lanebox itself. The transaction was rolled back.
    #[error("a defect of Lanebox: {what}; nothing of this call was stored, please report it")]
    Defect {
        /// What the broken assertion said.
        what: String,
    },
    /// The host's own code failed inside a transaction, which was rolled back.
    #[error("the host's code failed, its transaction was rolled back: {0}")]
    Host(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    pub(crate) fn invalid(what: &'static str, why: impl Into<String>) -> Error {
        Error::Invalid { what, why: why.into() }
    }

    /// Says where and how the text does not fit, not what it says.
    pub(crate) fn undecodable(what: &'static str, error: &serde_json::Error) -> Error {
        let kind = match error.classify() {
            serde_json::error::Category::Data => "a field has another type or is missing",
            _ => "it is not JSON that this program reads",
        };
        let why = format!("{kind}, at line {} column {}", error.line(), error.column());
        Error::Undecodable { what, why }
    }

    /// The same error for another member of one commit.
    pub(crate) fn again(&self) -> Error {
        use rusqlite::ErrorCode::ConstraintViolation;
        match self {
            Error::CommitUnknown(error) => Error::CommitUnknown(copy(error)),
            Error::DiskFull(error) => Error::DiskFull(copy(error)),
            Error::Damaged(error) => Error::Damaged(copy(error)),
            // A broken constraint is the fault of one member alone.
            Error::Sqlite(error) if error.sqlite_error_code() != Some(ConstraintViolation) => {
                Error::Sqlite(copy(error))
            }
            Error::Closed { cause } => Error::Closed { cause: cause.clone() },
            _ => Error::RolledBack,
        }
    }

    /// Whether it is about one row of a batch, and not about the file or the disk.
    pub(crate) fn is_of_one_row(&self) -> bool {
        match self {
            Error::Sqlite(error) => {
                error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation)
            }
            Error::Defect { .. } | Error::Invalid { .. } | Error::Conflict { .. } => true,
            _ => false,
        }
    }

    /// Whether a write found no room.
    pub(crate) fn is_disk_full(&self) -> bool {
        let full = |error: &rusqlite::Error| {
            error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)
        };
        match self {
            Error::DiskFull(_) => true,
            Error::CommitUnknown(error) => full(error),
            Error::Host(error) => error.downcast_ref().is_some_and(full),
            _ => false,
        }
    }

    /// What an error is that a read met: its own end, if that came too late.
    pub(crate) fn of_read(self, longest_ms: i64) -> Error {
        match self {
            Error::Sqlite(error)
                if error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted) =>
            {
                Error::ReadTooLong { longest_ms: longest_ms.unsigned_abs() }
            }
            other => other,
        }
    }

    /// What a storage error means for whoever goes on.
    pub(crate) fn doubt(&self) -> Option<Doubt> {
        use rusqlite::ErrorCode::{DatabaseCorrupt, DiskFull, NotADatabase, SystemIoFailure};
        use rusqlite::ffi::{SQLITE_IOERR_DIR_FSYNC, SQLITE_IOERR_FSYNC};
        let (Error::CommitUnknown(error) | Error::Damaged(error) | Error::Sqlite(error)) = self
        else {
            return None;
        };
        let error = error.sqlite_error()?;
        match (error.code, error.extended_code) {
            (_, SQLITE_IOERR_FSYNC | SQLITE_IOERR_DIR_FSYNC) => Some(Doubt::Handle),
            (DatabaseCorrupt | DiskFull | NotADatabase | SystemIoFailure, _) => {
                Some(Doubt::Connections)
            }
            _ => None,
        }
    }

    pub(crate) fn unusable(path: &std::path::Path, why: impl Into<String>) -> Error {
        Error::Unusable { path: path.to_owned(), why: why.into() }
    }

    pub(crate) fn io(what: impl Into<String>, source: std::io::Error) -> Error {
        Error::Io { what: what.into(), source }
    }
}

/// What is not to be trusted any more after a storage error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// What the connections remember of the file: they are opened anew.
    Connections,
    /// A flush failed, and the system reports that only once: what it keeps in memory may never
    /// have reached the disk.
    Handle,
}

// rusqlite's error cannot be cloned; code and text are what a caller reads.
fn copy(error: &rusqlite::Error) -> rusqlite::Error {
    match error {
        rusqlite::Error::SqliteFailure(code, text) => {
            rusqlite::Error::SqliteFailure(*code, text.clone())
        }
        other => rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ERROR),
            Some(other.to_string()),
        ),
    }
}

// What the schema does not let anybody store.
fn is_misfit(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error,
    };
    matches!(
        error,
        FromSqlConversionFailure(..)
            | IntegralValueOutOfRange(..)
            | InvalidColumnType(..)
            | Utf8Error(..)
    )
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Error {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseCorrupt, DiskFull, NotADatabase};
        match error.sqlite_error_code() {
            Some(DiskFull) => Error::DiskFull(error),
            // Whoever can wait has waited before it lets this out, and knows for how long.
            Some(DatabaseBusy) => Error::Busy { waited_ms: 0 },
            Some(DatabaseCorrupt | NotADatabase) => Error::Damaged(error),
            None if is_misfit(&error) => Error::Damaged(error),
            _ => Error::Sqlite(error),
        }
    }
}
