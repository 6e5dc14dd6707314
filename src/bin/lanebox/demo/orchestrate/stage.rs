//! Where the files of a demo are: a directory of the user's, or one that is removed when all went
//! well.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::private::private;

use super::super::clock;

/// The directory of one demo. Left where it is unless [`Stage::clear`] is called.
pub struct Stage {
    dir: PathBuf,
    is_ours: bool,
}

impl Stage {
    /// The user's directory, which must be new or empty; else a new one for temporary files, open
    /// to this user only.
    pub fn set(wanted: Option<&Path>) -> anyhow::Result<Self> {
        let temporary = || {
            // Two may start in one millisecond of one process.
            let (process, now, chance) = (std::process::id(), clock::now_ms(), fastrand::u32(..));
            let name = format!("lanebox-demo-{process}-{now}-{chance:08x}");
            std::env::temp_dir().join(name)
        };
        let dir = wanted.map_or_else(temporary, Path::to_owned);
        let making = || format!("cannot make the directory {}", dir.display());
        match private().create(&dir) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && wanted.is_some() => {
                if fs::read_dir(&dir).with_context(making)?.next().is_some() {
                    bail!("{} is not empty; name a directory that is new or empty", dir.display());
                }
            }
            made => made.with_context(making)?,
        }
        Ok(Self { dir, is_ours: wanted.is_none() })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A directory in it for one act.
    pub fn act(&self, name: &str) -> anyhow::Result<PathBuf> {
        let dir = self.dir.join(name);
        private().create(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        Ok(dir)
    }

    /// Removes what nobody asked to keep. Whether the files are gone.
    pub fn clear(self) -> anyhow::Result<bool> {
        if self.is_ours {
            fs::remove_dir_all(&self.dir)
                .with_context(|| format!("cannot remove {}", self.dir.display()))?;
        }
        Ok(self.is_ours)
    }
}
