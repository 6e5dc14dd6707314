//! The verbs of processes.

use rusqlite::params;
use uuid::Uuid;

use super::process::{Alive, Lock, PROCESSES_HERE, mark_gone, register};
use super::{SqliteStore, process};
use crate::error::Result;
use crate::model::id::ProcessNo;
use crate::store::processes::Processes;

const OTHERS_HOLD: &str = "SELECT EXISTS (SELECT 1 FROM lanebox_running WHERE process <> ?1)";

impl Processes for SqliteStore {
    fn register(&self) -> Result<ProcessNo> {
        let uuid = self.env.uuid();
        let lock = Lock::make(&self.path, uuid)?;
        let process = self.writer.write(move |tx| register(tx, uuid))?;
        self.locks.lock().insert(process, lock);
        Ok(process)
    }

    fn leave(&self, process: ProcessNo) -> Result<()> {
        self.writer.write(move |tx| mark_gone(tx, process).map(|_| ()))?;
        if let Some(lock) = self.locks.lock().remove(&process) {
            lock.remove();
        }
        Ok(())
    }

    fn sweep(&self) -> Result<bool> {
        let boot = self.env.boot().to_owned();
        let here: Vec<(ProcessNo, Vec<u8>)> = self.read(|conn| {
            let mut statement = conn.prepare_cached(PROCESSES_HERE)?;
            let rows = statement.query_map([boot], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })?;
        let mine: Vec<ProcessNo> = self.locks.lock().keys().copied().collect();
        let mut found = false;
        for (process, uuid) in here.into_iter().filter(|(process, _)| !mine.contains(process)) {
            let Ok(uuid) = Uuid::from_slice(&uuid) else { continue };
            if let Alive::No(lock) = process::Lock::probe(&self.path, uuid) {
                self.writer.write(move |tx| mark_gone(tx, process))?;
                lock.remove();
                found = true;
            }
        }
        Ok(found)
    }

    fn others_hold(&self, me: ProcessNo) -> Result<bool> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(OTHERS_HOLD)?;
            Ok(statement.query_row(params![me], |row| row.get(0))?)
        })
    }

    fn touch(&self) -> Result<()> {
        self.writer.write(|_| Ok(()))
    }

    fn changed_elsewhere(&self) -> Result<bool> {
        self.writer.changed_elsewhere()
    }
}
