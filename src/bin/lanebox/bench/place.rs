//! Where the files of a measurement are: a new directory, removed however it ends.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::private::private;

/// What the files of one measurement take at most, with their logs.
const ROOM: u64 = 512 << 20;

/// A directory with all that is in it, until this is dropped.
pub struct Place {
    dir: PathBuf,
}

impl Place {
    /// A new one in a directory of the user's.
    pub fn make(base: &Path) -> anyhow::Result<Place> {
        let next = "choose a directory that is there and that you may write to with --dir";
        let (process, chance) = (std::process::id(), fastrand::u32(..));
        let dir = base.join(format!("lanebox-bench-{process}-{chance:08x}"));
        let refused = || format!("cannot make a directory in {}: {next}", base.display());
        private().create(&dir).with_context(refused)?;
        let place = Place { dir };
        match free(&place.dir) {
            Some(free) if free < ROOM => bail!(
                "{} MiB are free in {} and {} must be: free some, or choose another with --dir",
                free >> 20,
                base.display(),
                ROOM >> 20
            ),
            _ => Ok(place),
        }
    }

    /// One for a single file of that name.
    pub fn within(&self, name: &str) -> anyhow::Result<Place> {
        let dir = self.dir.join(name);
        private().create(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        Ok(Place { dir })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The file that is measured.
    pub fn db(&self) -> PathBuf {
        self.dir.join("bench.db")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.dir) {
            let dir = self.dir.display().to_string();
            let said = format!("{dir} is left behind, remove it by hand: {error}");
            eprintln!("lanebox: {}", crate::output::text::shown(&said));
        }
    }
}

/// Bytes that this user may still fill, where the system tells.
#[cfg(unix)]
fn free(dir: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(dir).ok()?;
    (found.f_blocks > 0).then(|| found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(not(unix))]
fn free(_: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_is_gone_at_the_end_and_nothing_else() {
        let base = tempfile::tempdir().expect("a directory");
        fs::write(base.path().join("crm.db"), "theirs").expect("a file");
        let place = Place::make(base.path()).expect("made");
        let part = place.within("enqueue").expect("made");
        fs::write(part.db(), "ours").expect("a file");
        assert!(part.db().starts_with(place.dir()) && place.dir().starts_with(base.path()));
        drop((part, place));
        let left = fs::read_dir(base.path()).expect("the directory");
        let left: Vec<_> = left.map(|entry| entry.expect("an entry").file_name()).collect();
        assert_eq!(left, ["crm.db"]);
    }

    #[test]
    fn a_directory_that_is_not_there_is_told_with_what_to_do() {
        let refused = Place::make(Path::new("/no/such/directory")).err().expect("refused");
        assert!(format!("{refused:#}").contains("--dir"), "{refused:#}");
    }
}
