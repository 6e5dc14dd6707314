//! Jobs per second of the raw drain: complete the last batch, take the next, commit.

use std::path::Path;

use rusqlite::{Connection, Statement, params};

use super::super::clock::now;
use super::{NOW_MS, Sync, accept, open, payload};

/// Jobs per second, in commits of `batch`.
pub fn drain(path: &Path, sync: Sync, jobs: usize, batch: usize) -> rusqlite::Result<f64> {
    let conn = open(path, sync)?;
    conn.execute_batch("BEGIN")?;
    accept(&conn, 0..jobs, &payload())?;
    conn.execute_batch("COMMIT")?;
    let mut begin = conn.prepare("BEGIN IMMEDIATE")?;
    let mut commit = conn.prepare("COMMIT")?;
    let mut claim = Claim::prepare(&conn)?;
    let mut stop = conn.prepare("DELETE FROM running WHERE id = ?1 AND token = ?2")?;
    let mut finish = conn.prepare(
        "INSERT INTO finished VALUES (?1, 'done', NULL, ?2, ?2, ?3, 1, 1, 1, 0, NULL, NULL)",
    )?;
    let mut held: Vec<(i64, i64)> = Vec::new();
    let begun = now();
    loop {
        begin.execute([])?;
        for (id, token) in held.drain(..) {
            stop.execute(params![id, token])?;
            finish.execute(params![id, NOW_MS, token])?;
        }
        claim.next(batch, &mut held)?;
        commit.execute([])?;
        if held.is_empty() {
            break;
        }
    }
    Ok(jobs as f64 / begun.elapsed().as_secs_f64())
}

struct Claim<'c> {
    pick: Statement<'c>,
    read: Statement<'c>,
    unready: Statement<'c>,
    run: Statement<'c>,
    count: Statement<'c>,
    token: i64,
}

impl<'c> Claim<'c> {
    fn prepare(conn: &'c Connection) -> rusqlite::Result<Claim<'c>> {
        Ok(Claim {
            pick: conn.prepare("SELECT priority, run_at, id FROM ready WHERE alone = 0 AND kind = 1 AND org = 2 ORDER BY priority, run_at, id LIMIT ?1")?,
            read: conn.prepare("SELECT payload FROM job WHERE id = ?1")?,
            unready: conn.prepare("DELETE FROM ready WHERE alone = 0 AND kind = 1 AND org = 2 AND priority = ?1 AND run_at = ?2 AND id = ?3")?,
            run: conn.prepare("INSERT INTO running VALUES (?1, 2, 1, NULL, ?4, ?2, 1, 'thread', ?3, ?4, 1, 1, 10, 0, 0, 0, 0, 0, 0, 0, 0, NULL)")?,
            count: conn.prepare("UPDATE counter SET token = ?1 WHERE one = 1")?,
            token: 0,
        })
    }

    /// Takes the next jobs, each with its token.
    fn next(&mut self, batch: usize, held: &mut Vec<(i64, i64)>) -> rusqlite::Result<()> {
        let heads: Vec<(i64, i64, i64)> = self
            .pick
            .query_map([batch as i64], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?
            .collect::<Result<_, _>>()?;
        for (priority, run_at, id) in heads {
            let _payload: String = self.read.query_row([id], |r| r.get(0))?;
            self.unready.execute(params![priority, run_at, id])?;
            self.token += 1;
            self.run.execute(params![id, self.token, 60_000_i64, NOW_MS])?;
            held.push((id, self.token));
        }
        self.count.execute([self.token])?;
        Ok(())
    }
}
