//! The verbs of processes.

#[cfg(test)]
mod tests;

use std::sync::atomic::Ordering;

use super::bury::bury;
use super::guard::beside;
use super::process::{Alive, Known, Lock};
use super::{SqliteStore, handles, process, reap, renew};
use crate::env::Hint;
use crate::error::{Error, Result};
use crate::model::id::{KindNo, ProcessNo, Token};
use crate::store::processes::{Announced, Processes, Watch};

impl Processes for SqliteStore {
    fn register(&self) -> Result<ProcessNo> {
        let uuid = self.env.uuid();
        let lock = Lock::make(&self.file.path, uuid)?;
        let process = match self.writer.write(move |tx| process::register(tx, uuid)) {
            Ok(process) => process,
            Err(error) => {
                lock.remove();
                return Err(error);
            }
        };
        self.locks.lock().insert(process, lock);
        if let Err(error) = self.refuse_another_boot() {
            self.leave(process)?;
            return Err(error);
        }
        Ok(process)
    }

    fn announce(&self, process: ProcessNo, kinds: Vec<Announced>) -> Result<Vec<KindNo>> {
        self.writer.write(move |tx| handles::announce(tx, process, &kinds))
    }

    fn tell_unhandled(&self) -> Result<usize> {
        let now = self.env.now_ms();
        match self.read(|conn| handles::someone_waits(conn, now))? {
            true => self.writer.write(handles::tell),
            false => Ok(0),
        }
    }

    fn leave(&self, process: ProcessNo) -> Result<()> {
        self.writer.write(move |tx| bury(tx, process, None))?;
        if let Some(lock) = self.locks.lock().remove(&process) {
            lock.remove();
        }
        Ok(())
    }

    fn sweep(&self) -> Result<bool> {
        let here = self.env.boot();
        let mut gone = Vec::new();
        let mut locks = Vec::new();
        for known in self.others()? {
            match Lock::probe(&self.file.path, known.uuid) {
                Alive::No(lock) => {
                    // A reboot is no route's fault.
                    let died_in = if known.boot == here { lock.last_route() } else { None };
                    gone.push((known.no, died_in));
                    locks.push(lock);
                }
                // Nobody is left of a boot that has ended, and this one has no file to ask.
                Alive::CannotTell if known.boot != here => gone.push((known.no, None)),
                // Its leases tell.
                Alive::CannotTell | Alive::Yes => {}
            }
        }
        if gone.is_empty() {
            return Ok(false);
        }
        self.writer.write(move |tx| {
            gone.iter().try_for_each(|(process, died_in)| bury(tx, *process, died_in.as_ref()))
        })?;
        locks.into_iter().for_each(Lock::remove);
        Ok(true)
    }

    fn watch(&self, me: ProcessNo) -> Result<Watch> {
        self.read(|conn| reap::watch(conn, me, &self.env))
    }

    fn cancel_asked(&self, me: ProcessNo) -> Result<Vec<Token>> {
        self.read(|conn| renew::cancel_asked(conn, me))
    }

    fn touch(&self) -> Result<()> {
        self.writer.write(|_| Ok(()))
    }

    fn generation(&self) -> Result<u64> {
        // Several engines of one handle ask, and each must see the change.
        let changed = u64::from(self.writer.changed_elsewhere()?);
        Ok(self.generation.fetch_add(changed, Ordering::SeqCst) + changed)
    }

    fn hint(&self) -> Option<Hint> {
        // Each commit writes to the log, which stays the same file as long as anybody has it open.
        self.env.hint(&beside(&self.file.path, "-wal"))
    }
}

impl SqliteStore {
    // Whoever is not marked as gone, without those that this handle registered itself.
    fn others(&self) -> Result<Vec<Known>> {
        let mut known = self.read(process::living)?;
        let mine = self.locks.lock();
        known.retain(|known| !mine.contains_key(&known.no));
        Ok(known)
    }

    // A container may have a boot id of its own: then each would take the other's leases for those
    // of a boot that ended.
    fn refuse_another_boot(&self) -> Result<()> {
        let path = &self.file.path;
        let elsewhere = self.others()?.into_iter().find(|known| {
            known.boot != self.env.boot() && matches!(Lock::probe(path, known.uuid), Alive::Yes)
        });
        match elsewhere {
            None => Ok(()),
            Some(known) => Err(Error::unusable(
                path,
                format!(
                    "another program has it open under another boot id ({}, here {}; a container of its own?), and each \
                     would take the other's leases for ended ones: run both in one container",
                    known.boot,
                    self.env.boot()
                ),
            )),
        }
    }
}
