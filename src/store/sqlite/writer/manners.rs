//! What host code may do on our connection: everything but what would outlive its transaction there
//! and change how later ones work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

/// Pragmas that take a value and set nothing, or nothing that lasts.
const HARMLESS: [&str; 11] = [
    "defer_foreign_keys",
    "foreign_key_check",
    "foreign_key_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "quick_check",
    "table_info",
    "table_list",
    "table_xinfo",
];

/// Whose statements are prepared on a connection now.
pub(super) struct Manners(Arc<AtomicBool>);

impl Manners {
    /// Watches a connection for as long as it is open.
    pub(super) fn watch(conn: &Connection) -> rusqlite::Result<Manners> {
        let host = Arc::new(AtomicBool::new(false));
        let hosts_turn = host.clone();
        conn.authorizer(Some(move |asked: AuthContext<'_>| {
            match hosts_turn.load(Ordering::Relaxed) && lasts(&asked.action) {
                true => Authorization::Deny,
                false => Authorization::Allow,
            }
        }))?;
        Ok(Manners(host))
    }

    /// Until the answer is dropped, it is the host's turn.
    pub(super) fn hosts_turn(&self) -> HostsTurn<'_> {
        self.0.store(true, Ordering::Relaxed);
        HostsTurn(self)
    }
}

pub(super) struct HostsTurn<'m>(&'m Manners);

impl Drop for HostsTurn<'_> {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::Relaxed);
    }
}

// A temporary table of the name of one of ours would take what is written to it.
fn lasts(action: &AuthAction<'_>) -> bool {
    match action {
        AuthAction::Pragma { pragma_name, pragma_value: Some(_) } => {
            !HARMLESS.iter().any(|harmless| harmless.eq_ignore_ascii_case(pragma_name))
        }
        AuthAction::CreateTempTable { table_name: name }
        | AuthAction::CreateTempView { view_name: name }
        | AuthAction::CreateTempTrigger { table_name: name, .. } => is_ours(name),
        // It may get a name of ours.
        AuthAction::AlterTable { database_name, .. } => database_name.eq_ignore_ascii_case("temp"),
        _ => false,
    }
}

fn is_ours(name: &str) -> bool {
    name.get(..8).is_some_and(|begins| begins.eq_ignore_ascii_case("lanebox_"))
}
