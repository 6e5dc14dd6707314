//! Which processes have code for which kinds, and the kinds that nobody has code for.

use rusqlite::{Connection, params};

use super::names;
use super::notify::{Notice, notify};
use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{KindNo, OrgNo, ProcessNo};
use crate::store::processes::Announced;

/// A deploy may take this long before a person is told that nobody has code for a kind.
pub(super) const DEPLOY_MS: i64 = 10 * 60_000;

/// The platform: a kind belongs to no single org.
pub(super) const PLATFORM: OrgNo = OrgNo(1);

const HANDLES_NEW: &str = "INSERT INTO lanebox_handles(process, kind) VALUES (?1, ?2) ON CONFLICT(process, kind) DO NOTHING";
const HANDLES_DEL: &str = "DELETE FROM lanebox_handles WHERE process = ?1";
const KIND_YIELDS: &str = "UPDATE lanebox_kind SET yields = ?2 WHERE id = ?1 AND yields <> ?2";
const BESIDE: &str = "SELECT DISTINCT h.kind FROM lanebox_process me \
     CROSS JOIN lanebox_process p INDEXED BY lanebox_process_here ON p.gone = 0 AND p.os = me.os AND p.pid = me.pid \
     CROSS JOIN lanebox_handles h ON h.process = p.id WHERE me.id = ?1";
const DIE_TOGETHER: &str = "SELECT 1 FROM lanebox_process a JOIN lanebox_process b ON b.os = a.os AND b.pid = a.pid \
     WHERE a.id = ?1 AND b.id = ?2";
const UNHANDLED: &str = "SELECT k.id, k.name FROM lanebox_kind k WHERE k.paused = 0 \
     AND (SELECT y.run_at FROM lanebox_ready y WHERE y.alone = 0 AND y.kind = k.id ORDER BY y.org, y.priority, y.run_at, y.id LIMIT 1) <= ?1 \
     AND NOT EXISTS (SELECT 1 FROM lanebox_process p INDEXED BY lanebox_process_here \
         CROSS JOIN lanebox_handles h ON h.process = p.id AND h.kind = k.id WHERE p.gone = 0) \
     AND NOT EXISTS (SELECT 1 FROM lanebox_notice n WHERE n.org = 1 AND n.kind = 'kind.unhandled' AND n.cause = k.name AND n.state <> 'resolved')";
const HANDLED_AGAIN: &str = "UPDATE lanebox_notice SET state = 'resolved', resolved_at = ?2, resolved_by = 'lanebox' \
     WHERE org = 1 AND kind = 'kind.unhandled' AND cause = ?1 AND state <> 'resolved'";

/// Writes down what a process has code for; the numbers of the kinds, in their order.
pub(super) fn announce(
    tx: &Tx<'_>,
    process: ProcessNo,
    kinds: &[Announced],
) -> Result<Vec<KindNo>> {
    let one = |announced: &Announced| {
        let kind = names::kind(tx, &announced.kind)?;
        tx.run(HANDLES_NEW, params![process, kind])?;
        tx.run(KIND_YIELDS, params![kind, announced.yields])?;
        tx.run(HANDLED_AGAIN, params![announced.kind, tx.now])?;
        Ok(kind)
    };
    kinds.iter().map(one).collect()
}

/// The process is gone, and its code with it.
pub(super) fn forget(tx: &Tx<'_>, process: ProcessNo) -> Result<()> {
    tx.run(HANDLES_DEL, [process])?;
    Ok(())
}

/// The kinds that this process, or another engine beside it in the same process of the system, has
/// code for.
pub(super) fn beside(tx: &Tx<'_>, me: ProcessNo) -> Result<Vec<KindNo>> {
    tx.all(BESIDE, [me], |row| row.get(0))
}

/// Whether what kills one of them kills the other: they are engines of one process of the system.
pub(super) fn die_together(tx: &Tx<'_>, one: ProcessNo, other: ProcessNo) -> Result<bool> {
    Ok(one == other || tx.has(DIE_TOGETHER, [one, other])?)
}

/// Whether a person should be told of a kind that nobody has code for.
pub(super) fn someone_waits(conn: &Connection, now: i64) -> Result<bool> {
    Ok(conn.prepare_cached(UNHANDLED)?.exists([now - DEPLOY_MS])?)
}

/// Tells a person of each kind whose jobs have waited for longer than a deploy and that no living
/// process has code for; once, until that is mended.
pub(super) fn tell(tx: &Tx<'_>) -> Result<usize> {
    let kinds: Vec<(i64, String)> =
        tx.all(UNHANDLED, [tx.now - DEPLOY_MS], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (kind, name) in &kinds {
        notify(
            tx,
            &Notice {
                org: PLATFORM,
                kind: "kind.unhandled",
                cause: name.clone(),
                severity: "warn",
                reason: format!("no running process has code for kind {name}; its jobs wait"),
                next_step: "start a process that handles it, or cancel its jobs".to_owned(),
                about: Some(("kind", *kind)),
            },
        )?;
    }
    Ok(kinds.len())
}
