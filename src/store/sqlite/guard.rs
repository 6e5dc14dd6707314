//! What a file must be like before SQLite touches it. Only `stat`, never `open`: closing a database
//! by ordinary file calls would drop the locks that this process holds on it.

pub(super) mod filesystem;
mod owner;
#[cfg(test)]
mod tests;

use std::fs::{Metadata, symlink_metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// What SQLite keeps beside the file. The first may hold accepted work that is nowhere else.
pub(super) const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// A file that may be opened, and what it is known by later.
#[derive(Clone, Debug)]
pub(super) struct Admitted {
    /// Absolute, without a symbolic link.
    pub(super) path: PathBuf,
    identity: (u64, u64),
}

/// Checks the path, its directory and what is there already; makes an empty file of mode 0600 if
/// `create`.
pub(super) fn admit(path: &Path, create: bool, allow_filesystem: bool) -> Result<Admitted> {
    let (path, directory) = resolve(path)?;
    owner::check_directory(&path, &directory)?;
    filesystem::check(&path, &directory, allow_filesystem)?;
    let wal = check_beside(&path)?;
    let found = match stat(&path)? {
        Some(found) => found,
        None if wal => return Err(Error::unusable(&path, ONLY_WAL)),
        None if create => {
            owner::make(&path)?;
            stat(&path)?
                .ok_or_else(|| Error::unusable(&path, "it was removed while it was made"))?
        }
        None => {
            let why = "there is no such file: `lanebox init` makes one, or check the path";
            return Err(Error::unusable(&path, why));
        }
    };
    check_file(&path, &found)?;
    Ok(Admitted { path, identity: owner::identity(&found) })
}

const ONLY_WAL: &str = "the file is missing but its -wal is there, which may hold accepted work that is nowhere else: \
     put the file back where it was; move the -wal away only if you mean to begin anew";

impl Admitted {
    /// Whether the path still leads to the file that was admitted.
    pub(super) fn is_still_there(&self) -> Result<()> {
        match stat(&self.path)? {
            Some(found) if owner::identity(&found) == self.identity => Ok(()),
            _ => Err(Error::unusable(
                &self.path,
                "it was moved or replaced while it was open: stop, put the right file in its place and start again",
            )),
        }
    }
}

/// The name of what lies beside the database under this suffix.
pub(super) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

// An absolute path, so that no spelling (`:memory:`, `file:x?mode=memory`) means anything but a
// file, and so that every process derives the same names for what lies beside it.
fn resolve(path: &Path) -> Result<(PathBuf, PathBuf)> {
    let refuse = |why: &str| Err(Error::unusable(path, why));
    let text = path.to_string_lossy();
    if text.is_empty() {
        return Err(Error::invalid("path of the file", "it is empty: name a file"));
    }
    let uri = text.starts_with("file:");
    if text == ":memory:" || uri && (text.contains(":memory:") || text.contains("mode=memory")) {
        return refuse(
            "a database in memory is lost with its process, and each connection would see another one: name a file \
             (in tests, one in a temporary directory)",
        );
    }
    if uri {
        return refuse("URIs are not taken: name the file by its plain path");
    }
    let Some(name) = path.file_name().filter(|_| !text.ends_with(std::path::is_separator)) else {
        return refuse("this names a directory: name a file in it, such as `lanebox.db`");
    };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let directory = match parent.canonicalize() {
        Ok(directory) if directory.is_dir() => directory,
        Ok(_) => return refuse(&format!("{} is not a directory", parent.display())),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return refuse(&format!(
                "the directory {} does not exist: make it first",
                parent.display()
            ));
        }
        Err(error) => {
            return refuse(&format!(
                "its directory {} cannot be looked at ({error})",
                parent.display()
            ));
        }
    };
    Ok((directory.join(name), directory))
}

fn stat(path: &Path) -> Result<Option<Metadata>> {
    match symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::unusable(path, format!("it cannot be looked at ({error})"))),
    }
}

// Whether there is a -wal: asked before the file itself is looked for, because it is made after it.
fn check_beside(path: &Path) -> Result<bool> {
    let mut wal = false;
    for suffix in BESIDE {
        let Some(found) = stat(&beside(path, suffix))? else { continue };
        wal |= suffix == "-wal";
        plain(path, &format!("its {suffix}"), &found)?;
        owner::check_owner(path, &format!("its {suffix}"), &found)?;
    }
    Ok(wal)
}

fn check_file(path: &Path, found: &Metadata) -> Result<()> {
    plain(path, "it", found)?;
    owner::check_owner(path, "it", found)?;
    owner::check_links(path, found)?;
    owner::check_rights(path, found)
}

fn plain(path: &Path, what: &str, found: &Metadata) -> Result<()> {
    let kind = found.file_type();
    if kind.is_symlink() {
        let why = format!(
            "{what} is a symbolic link: another name would have another -wal, and that damages it; name the file itself"
        );
        return Err(Error::unusable(path, why));
    }
    if kind.is_dir() {
        return Err(Error::unusable(path, format!("{what} is a directory: name a file in it")));
    }
    if !kind.is_file() {
        return Err(Error::unusable(path, format!("{what} is not a regular file")));
    }
    Ok(())
}
