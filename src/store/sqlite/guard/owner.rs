//! Whose file it is, and what this user may do with it.

#[cfg(not(unix))]
pub(super) use elsewhere::*;
#[cfg(unix)]
pub(super) use unix::*;

#[cfg(unix)]
mod unix {
    use std::fs::{Metadata, metadata};
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    use rustix::fs::{Access, AtFlags, CWD, accessat};
    use rustix::io::Errno;

    use crate::error::{Error, Result};

    /// Device and inode.
    pub(in super::super) fn identity(found: &Metadata) -> (u64, u64) {
        (found.dev(), found.ino())
    }

    /// Root included: what another user makes beside the file would lock its owner out.
    pub(in super::super) fn check_owner(path: &Path, what: &str, found: &Metadata) -> Result<()> {
        let me = rustix::process::geteuid().as_raw();
        let owner = found.uid();
        if owner == me {
            return Ok(());
        }
        // Only root can give files away.
        let chown = match me {
            0 => format!(", or give that user's files to {me} with `chown`"),
            _ => String::new(),
        };
        let why = format!(
            "{what} belongs to user {owner} and this program runs as user {me}, whose -wal and -shm would lock the owner \
             out: run it as user {owner}{chown}"
        );
        Err(Error::unusable(path, why))
    }

    /// Under two names the file would have two -wal.
    pub(in super::super) fn check_links(path: &Path, found: &Metadata) -> Result<()> {
        if found.nlink() <= 1 {
            return Ok(());
        }
        let why = format!(
            "it has {} names (hard links): a program that uses another name would have another -wal, and that damages \
             it; remove the other names",
            found.nlink()
        );
        Err(Error::unusable(path, why))
    }

    /// SQLite makes and removes files beside the database: whoever can put files there can take it
    /// over.
    pub(in super::super) fn check_directory(path: &Path, directory: &Path) -> Result<()> {
        let found = metadata(directory).map_err(|error| {
            Error::unusable(path, format!("its directory cannot be looked at ({error})"))
        })?;
        if found.mode() & 0o002 != 0 && found.mode() & 0o1000 == 0 {
            let why = format!(
                "every user may replace files in its directory {}: {}",
                directory.display(),
                mend(&found, "take that right away with `chmod o-w`")
            );
            return Err(Error::unusable(path, why));
        }
        match accessat(CWD, directory, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS) {
            Ok(()) => Ok(()),
            Err(error) => {
                let why = format!(
                    "SQLite must make files beside it, but the directory {} {}",
                    directory.display(),
                    denied(error, &found, "chmod u+rwx")
                );
                Err(Error::unusable(path, why))
            }
        }
    }

    /// Reading alone is not enough: even a reader writes into -shm.
    pub(in super::super) fn check_rights(path: &Path, found: &Metadata) -> Result<()> {
        match accessat(CWD, path, Access::READ_OK | Access::WRITE_OK, AtFlags::EACCESS) {
            Ok(()) => Ok(()),
            Err(error) => {
                let why = format!("it {}", denied(error, found, "chmod u+rw"));
                Err(Error::unusable(path, why))
            }
        }
    }

    // Rights are changed by the owner and by root; nobody else can follow that advice.
    fn mend(found: &Metadata, change: &str) -> String {
        let (me, owner) = (rustix::process::geteuid().as_raw(), found.uid());
        if me == owner || me == 0 {
            return change.to_owned();
        }
        format!(
            "it belongs to user {owner}: run this program as that user, or name a file in a directory of your own"
        )
    }

    fn denied(error: Errno, found: &Metadata, command: &str) -> String {
        match error {
            Errno::ROFS => "is on a read-only file system: mount it for writing".to_owned(),
            Errno::ACCESS | Errno::PERM => {
                let change = format!("give the right back with `{command}`");
                format!("may not be read and written by this user: {}", mend(found, &change))
            }
            other => format!("cannot be written ({other})"),
        }
    }

    /// Makes an empty file that only this user can read. Not by opening it: in this process another
    /// handle may have it open by the time ours would be closed.
    pub(in super::super) fn make(path: &Path) -> Result<()> {
        match create(path) {
            // Another process was first: what it made is looked at next.
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(Error::unusable(path, format!("it cannot be made ({error})"))),
        }
    }

    #[cfg(target_os = "linux")]
    fn create(path: &Path) -> std::result::Result<(), Errno> {
        use rustix::fs::{FileType, Mode, mknodat};
        mknodat(CWD, path, FileType::RegularFile, Mode::RUSR | Mode::WUSR, 0)
    }

    #[cfg(not(target_os = "linux"))]
    fn create(path: &Path) -> std::result::Result<(), Errno> {
        use rustix::fs::{Mode, OFlags, open};
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        open(path, flags, Mode::RUSR | Mode::WUSR).map(drop)
    }
}

/// Where there are no owners and modes in this sense, the system's own rights decide.
#[cfg(not(unix))]
mod elsewhere {
    use std::fs::{Metadata, OpenOptions};
    use std::path::Path;

    use crate::error::{Error, Result};

    pub(in super::super) fn identity(_: &Metadata) -> (u64, u64) {
        (0, 0)
    }

    pub(in super::super) fn check_owner(_: &Path, _: &str, _: &Metadata) -> Result<()> {
        Ok(())
    }

    pub(in super::super) fn check_links(_: &Path, _: &Metadata) -> Result<()> {
        Ok(())
    }

    pub(in super::super) fn check_directory(_: &Path, _: &Path) -> Result<()> {
        Ok(())
    }

    pub(in super::super) fn check_rights(_: &Path, _: &Metadata) -> Result<()> {
        Ok(())
    }

    pub(in super::super) fn make(path: &Path) -> Result<()> {
        match OpenOptions::new().write(true).create_new(true).open(path) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(Error::unusable(path, format!("it cannot be made ({error})"))),
        }
    }
}
