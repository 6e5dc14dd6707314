//! Keys that one unfinished job at a time holds. A dead job that another took the key from
//! remembers it: started again, it needs it back.

use rusqlite::params;

use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{JobId, JobNo, KindNo, OrgNo};

const UNIQUE_FIND: &str = "SELECT j.id, j.uuid FROM lanebox_job_unique u CROSS JOIN lanebox_job j ON j.id = u.job \
     WHERE u.org = ?1 AND u.kind = ?2 AND u.key_hmac = ?3 AND u.holds = 1 AND NOT EXISTS (SELECT 1 FROM lanebox_finished f WHERE f.id = u.job)";
const UNIQUE_DROP: &str = "DELETE FROM lanebox_job_unique WHERE org = ?1 AND kind = ?2 AND key_hmac = ?3 AND holds = 1 \
     AND NOT EXISTS (SELECT 1 FROM lanebox_finished f WHERE f.id = job AND f.state = 'dead')";
const UNIQUE_LOSE: &str = "UPDATE lanebox_job_unique SET holds = 0 WHERE org = ?1 AND kind = ?2 AND key_hmac = ?3 AND holds = 1";
const UNIQUE_NEW: &str =
    "INSERT INTO lanebox_job_unique(job, org, kind, key_hmac, holds) VALUES (?1, ?2, ?3, ?4, 1)";
const UNIQUE_LOST: &str =
    "SELECT org, kind, key_hmac FROM lanebox_job_unique WHERE job = ?1 AND holds = 0";
const UNIQUE_BACK: &str = "UPDATE lanebox_job_unique SET holds = 1 WHERE job = ?1";

/// The unfinished job that holds the key.
pub(super) fn holder(
    tx: &Tx<'_>,
    org: OrgNo,
    kind: KindNo,
    key: &[u8; 32],
) -> Result<Option<(JobNo, JobId)>> {
    tx.one(UNIQUE_FIND, params![org, kind, key], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// A new job takes a key that no unfinished job holds.
pub(super) fn take(
    tx: &Tx<'_>,
    org: OrgNo,
    kind: KindNo,
    key: &[u8; 32],
    job: JobNo,
) -> Result<()> {
    free(tx, org, kind, key)?;
    tx.run(UNIQUE_NEW, params![job, org, kind, key]).map(|_| ())
}

/// A dead job that starts again takes back the key that it lost. The unfinished job that holds it,
/// if there is one: then nothing was changed.
pub(super) fn take_back(tx: &Tx<'_>, job: JobNo) -> Result<Option<JobId>> {
    let lost = tx.one(UNIQUE_LOST, [job], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let Some((org, kind, key)) = lost else {
        return Ok(None);
    };
    if let Some((_, by)) = holder(tx, org, kind, &key)? {
        return Ok(Some(by));
    }
    free(tx, org, kind, &key)?;
    tx.run(UNIQUE_BACK, [job])?;
    Ok(None)
}

fn free(tx: &Tx<'_>, org: OrgNo, kind: KindNo, key: &[u8; 32]) -> Result<()> {
    if tx.run(UNIQUE_DROP, params![org, kind, key])? == 0 {
        tx.run(UNIQUE_LOSE, params![org, kind, key])?;
    }
    Ok(())
}
