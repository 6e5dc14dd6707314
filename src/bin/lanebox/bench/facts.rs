//! What is true of the disk and of SQLite before anything is measured.

use std::path::Path;

use lanebox::rusqlite::{self, Connection};
use serde::Serialize;

/// What the figures are figures of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Facts {
    pub lanebox: &'static str,
    pub sqlite: &'static str,
    /// `fdatasync`, `fsync`, or `unknown`: SQLite does not tell, but who builds it does.
    pub sqlite_flushes_by: &'static str,
    /// Each allocation of all connections goes through one lock.
    pub sqlite_memory_management: bool,
    /// The directory that was measured in.
    pub dir: String,
    /// Nothing of it outlives a power cut.
    pub in_memory: bool,
}

/// Of this program, and of the directory that stands in the user's.
pub fn of(dir: &Path, base: &Path) -> anyhow::Result<Facts> {
    let conn = Connection::open_in_memory()?;
    let option = "SELECT EXISTS (SELECT 1 FROM pragma_compile_options WHERE compile_options GLOB 'ENABLE_MEMORY_MANAGEMENT*')";
    Ok(Facts {
        lanebox: env!("CARGO_PKG_VERSION"),
        sqlite: rusqlite::version(),
        sqlite_flushes_by: flushes_by(
            cfg!(feature = "bundled"),
            option_env!("LIBSQLITE3_FLAGS").unwrap_or_default(),
        ),
        sqlite_memory_management: conn.query_row(option, [], |row| row.get(0))?,
        dir: std::path::absolute(base)?.to_string_lossy().into_owned(),
        in_memory: in_memory(dir),
    })
}

// The flags of the build of this program are those of the SQLite that was compiled with it.
fn flushes_by(bundled: bool, flags: &str) -> &'static str {
    match flags.contains("HAVE_FDATASYNC") {
        _ if !bundled => "unknown",
        true => "fdatasync",
        false => "fsync",
    }
}

#[cfg(target_os = "linux")]
fn in_memory(dir: &Path) -> bool {
    const TMPFS: u32 = 0x0102_1994;
    const RAMFS: u32 = 0x8584_58f6;
    // 32 bits, whatever the type of the field is here.
    rustix::fs::statfs(dir).is_ok_and(|found| [TMPFS, RAMFS].contains(&(found.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
fn in_memory(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_of_the_build_tell_how_its_own_sqlite_flushes() {
        assert_eq!(flushes_by(true, "-DHAVE_FDATASYNC=1"), "fdatasync");
        assert_eq!(flushes_by(true, ""), "fsync");
        assert_eq!(flushes_by(false, "-DHAVE_FDATASYNC=1"), "unknown");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_system_in_memory_is_known() {
        assert!(!in_memory(Path::new("/proc")), "it is there, and of another kind");
        let facts = of(Path::new("/proc"), Path::new(".")).expect("facts");
        assert!(Path::new(&facts.dir).is_absolute() && facts.sqlite.starts_with("3."), "{facts:?}");
    }
}
