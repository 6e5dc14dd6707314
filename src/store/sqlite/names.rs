//! Names that people use, and their row numbers. Orgs, kinds and lanes are made when they are first
//! named.

use std::borrow::Cow;

use rusqlite::params;

use super::tx::Tx;
use crate::error::Result;
use crate::model::id::{KindNo, LaneNo, OrgNo};
use crate::model::text::check_name;

const ORG_FIND: &str = "SELECT id FROM lanebox_org WHERE name = ?1";
const ORG_NEW: &str = "INSERT INTO lanebox_org(name) VALUES (?1)";
const KIND_FIND: &str = "SELECT id FROM lanebox_kind WHERE name = ?1";
const KIND_NEW: &str = "INSERT INTO lanebox_kind(name) VALUES (?1)";
const LANE_FIND: &str =
    "SELECT coalesce(merged_into, id) FROM lanebox_lane WHERE org = ?1 AND name = ?2";
const LANE_NEW: &str = "INSERT INTO lanebox_lane(org, name) VALUES (?1, ?2)";

pub(super) fn org(tx: &Tx<'_>, name: &str) -> Result<OrgNo> {
    if let Some(id) = tx.one(ORG_FIND, [name], |row| row.get(0))? {
        return Ok(id);
    }
    tx.run(ORG_NEW, [name])?;
    Ok(OrgNo(tx.last_row()))
}

pub(super) fn kind(tx: &Tx<'_>, name: &str) -> Result<KindNo> {
    if let Some(id) = tx.one(KIND_FIND, [name], |row| row.get(0))? {
        return Ok(id);
    }
    tx.run(KIND_NEW, [name])?;
    Ok(KindNo(tx.last_row()))
}

pub(super) fn lane(tx: &Tx<'_>, org: OrgNo, name: &str) -> Result<LaneNo> {
    let name = &*fitting(tx, name);
    if let Some(id) = tx.one(LANE_FIND, params![org, name], |row| row.get(0))? {
        return Ok(id);
    }
    tx.run(LANE_NEW, params![org, name])?;
    Ok(LaneNo(tx.last_row()))
}

// A consumer's lanes are named by subjects, which may be longer than a lane's name or begin with a
// blank.
fn fitting<'n>(tx: &Tx<'_>, name: &'n str) -> Cow<'n, str> {
    if check_name("lane", name, 200).is_ok() {
        return Cow::Borrowed(name);
    }
    let hmac = tx.secret.hmac("lane", &[name.as_bytes()]);
    Cow::Owned(format!("#{}", hex(&hmac)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
