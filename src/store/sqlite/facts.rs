//! What surrounds a file: its file system and the room there, who owns it, who has it open, and how
//! it is flushed. By `stat` only.

use std::fs::Metadata;
use std::path::Path;

use super::guard::{self, filesystem};
use super::process::{Alive, Lock};
use super::{Checkpoint, SqliteStore, ballast, process};
use crate::error::Result;
use crate::model::room::RoomMode;
use crate::store::people::Fact;
use crate::store::space::{RoomHealth, Space};

impl SqliteStore {
    /// What `doctor` says beside what the tables say.
    pub(super) fn surroundings(&self) -> Result<Vec<Fact>> {
        let mut facts = vec![file_system(&self.file.path), flush_call()];
        facts.extend(files(&self.file.path));
        facts.push(self.processes()?);
        facts.extend([self.room(), self.checkpoints()]);
        Ok(facts)
    }

    fn room(&self) -> Fact {
        // A look alone: a diagnosis lays no ballast.
        self.disk.look(&self.env);
        let RoomHealth { mode, free_bytes, low_water_bytes } = self.space().0;
        let wrong = match mode {
            RoomMode::Plenty => None,
            RoomMode::Low => Some("no job is begun and no event dispatched: free some space"),
            RoomMode::Full => Some("nothing new is accepted or begun: free some space"),
        };
        let free = free_bytes.map_or("unknown".to_owned(), |free| format!("{free} bytes free"));
        let ballast = if ballast::is_there(&self.file.path) { "a" } else { "no" };
        let value = format!(
            "{}: {free}, low-water mark {low_water_bytes} bytes, {ballast} ballast file",
            mode.as_str()
        );
        Fact { wrong: wrong.map(str::to_owned), ..fact("disk", value) }
    }

    fn checkpoints(&self) -> Fact {
        let by = match self.checkpoint {
            Checkpoint::Own => "own: by a started engine, else by commits",
            Checkpoint::External => "external: by another program, which must run",
        };
        fact("checkpoint", by.to_owned())
    }

    fn processes(&self) -> Result<Fact> {
        let (mut alive, mut gone, mut unclear) = (0, 0, 0);
        for known in self.read(process::living)? {
            match Lock::probe(&self.file.path, known.uuid) {
                Alive::Yes => alive += 1,
                Alive::No(_) => gone += 1,
                Alive::CannotTell => unclear += 1,
            }
        }
        let value =
            format!("{alive} alive, {gone} gone and not yet swept, {unclear} without a lock file");
        Ok(fact("processes", value))
    }
}

fn file_system(path: &Path) -> Fact {
    let found = filesystem::of(path.parent().unwrap_or(path));
    let wrong = found
        .network
        .then(|| "locks do not hold on a network: move the file to a local disk".to_owned());
    Fact { wrong, ..fact("file system", found.name) }
}

// SQLite does not list this flag among its compile options.
fn flush_call() -> Fact {
    let flags = option_env!("LIBSQLITE3_FLAGS").unwrap_or_default();
    let call = match (cfg!(feature = "bundled"), flags.contains("HAVE_FDATASYNC")) {
        (true, true) => "fdatasync",
        (true, false) => {
            "fsync: slower; set LIBSQLITE3_FLAGS=\"-DHAVE_FDATASYNC=1\" when compiling"
        }
        (false, _) => "as the system's SQLite was compiled",
    };
    fact("flush by", call.to_owned())
}

fn files(path: &Path) -> Vec<Fact> {
    let beside = guard::BESIDE.iter().map(|suffix| guard::beside(path, suffix));
    std::iter::once(path.to_owned())
        .chain(beside)
        .filter_map(|file| Some((file.symlink_metadata().ok()?, file)))
        .map(|(found, file)| {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            rights(&name, &found)
        })
        .collect()
}

#[cfg(unix)]
fn rights(name: &str, found: &Metadata) -> Fact {
    use std::os::unix::fs::MetadataExt;
    let mode = found.mode() & 0o7777;
    let wrong = (mode & 0o007 != 0)
        .then(|| format!("every user of this machine may open it: `chmod o-rwx {name}`"));
    let value = format!("{} bytes, user {}, mode {mode:04o}", found.len(), found.uid());
    Fact { wrong, ..fact(name, value) }
}

#[cfg(not(unix))]
fn rights(name: &str, found: &Metadata) -> Fact {
    fact(name, format!("{} bytes", found.len()))
}

fn fact(name: &str, value: String) -> Fact {
    Fact { name: name.to_owned(), value, wrong: None }
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::env::Env;
    use crate::store::people::People;
    use crate::store::processes::Processes;
    use crate::store::sqlite::Opening;

    fn value(facts: &[Fact], name: &str) -> (String, bool) {
        let found = facts.iter().find(|fact| fact.name == name).expect("a fact of that name");
        (found.value.clone(), found.wrong.is_none())
    }

    // fault: doctor-sees-no-file
    #[test]
    fn r10_the_doctor_sees_what_surrounds_the_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("crm.db");
        let store = SqliteStore::open(&path, Env::system(), &Opening::default()).expect("opened");
        store.register().expect("a process");
        let found = store.doctor().expect("a diagnosis");
        assert!(found.sound, "{found:?}");
        assert_eq!(value(&found.facts, "flush by"), ("fdatasync".to_owned(), true));
        let (processes, _) = value(&found.facts, "processes");
        assert!(processes.starts_with("1 alive, 0 gone"), "{processes}");
        let (wal, well) = value(&found.facts, "crm.db-wal");
        assert!(wal.ends_with("mode 0600") && well, "{wal}");

        set_permissions(&path, Permissions::from_mode(0o644)).expect("opened up");
        let found = store.doctor().expect("a diagnosis");
        assert!(!found.sound);
        assert!(!value(&found.facts, "crm.db").1, "every user may read it");
    }
}
