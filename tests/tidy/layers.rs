//! Arrows point downwards: nouns, verbs, steps, loops, doors.

use crate::source::{Source, is_word};
use crate::{holds, tells_apart};

/// What each module at the root may use, beside itself. The picture of the architecture, as a
/// table.
const MAY_USE: [(&str, &[&str]); 12] = [
    ("error", &[]),
    ("sync", &[]),
    ("env", &["error"]),
    ("model", &["error"]),
    ("hook", &["error", "model"]),
    ("store", &["env", "error", "model", "sync"]),
    ("engine", &["env", "error", "model", "store", "sync"]),
    ("runtime", &["engine", "env", "error", "model", "store", "sync"]),
    ("lanebox", &["engine", "env", "error", "hook", "model", "runtime", "store"]),
    ("people", &["error", "lanebox", "model", "store"]),
    ("sends", &["error", "lanebox", "model", "store"]),
    ("automation", &["error", "lanebox", "model"]),
];

/// The root joins all layers, and the doors for tests open each.
const ABOVE_ALL: [&str; 2] = ["lib", "testing"];

/// Who may know that the store is SQLite: the store itself, and those who open it.
const KNOWS_SQLITE: [&str; 4] =
    ["src/store/sqlite", "src/lanebox.rs", "src/lib.rs", "src/testing.rs"];

#[test]
fn arrows_point_downwards() {
    holds(arrows);
    let up = "use crate::runtime::Running;";
    let grouped = "use crate::{error::{Error, Result}, runtime::Running};";
    for bad in [up, grouped, "fn f() -> crate::engine::Engine {}", "use super::super::engine::X;"] {
        tells_apart(arrows, "src/store/jobs.rs", bad, "use crate::model::id::JobId; use super::X;");
    }
    tells_apart(arrows, "src/store/jobs.rs", "use crate::Result;", "use crate::error::Result;");
    tells_apart(arrows, "src/model/id.rs", "use crate::env::Env;", "//! crate::env::Env");
    tells_apart(arrows, "src/engine/a.rs", up, &format!("#[cfg(test)]\nmod tests {{ {up} }}"));
}

#[test]
fn only_those_who_open_it_know_the_sqlite_store() {
    holds(behind_the_seam);
    let good = "use crate::store::Store;";
    let bad = "use crate::store::sqlite::SqliteStore;";
    tells_apart(behind_the_seam, "src/engine/mod.rs", bad, good);
    let sql = r#"let n = store.count("SELECT count(*) FROM lanebox_job");"#;
    tells_apart(behind_the_seam, "src/engine/run.rs", sql, r#"log("SELECTED");"#);
}

fn arrows(source: &Source) -> Vec<String> {
    let Some(module) = module_path(&source.path) else { return Vec::new() };
    if ABOVE_ALL.contains(&module[0]) {
        return Vec::new();
    }
    let Some((_, below)) = MAY_USE.iter().find(|(name, _)| *name == module[0]) else {
        return vec![source.finding(0, "this module stands in no layer: see layers.rs")];
    };
    let used = uses(source, &module).into_iter().filter(|(at, _)| !source.is_test(*at));
    let upward = used.filter(|(_, name)| *name != module[0] && !below.contains(name));
    upward
        .map(|(at, name)| match name.starts_with(char::is_uppercase) {
            true => source.finding(at, &format!("crate::{name}: name the module that has it")),
            false => source.finding(at, &format!("{} must not use {name}", module[0])),
        })
        .collect()
}

fn behind_the_seam(source: &Source) -> Vec<String> {
    if !source.path.starts_with("src/")
        || source.path.starts_with("src/bin/")
        || KNOWS_SQLITE.iter().any(|path| source.path.starts_with(path))
    {
        return Vec::new();
    }
    let why = "the store is used by its traits, not as store::sqlite";
    let named = source.says("store::sqlite").map(|at| (at, why));
    let why = "SQL text stands in the store, behind a verb";
    let sql = source.texts().filter(|(_, text)| is_sql(text)).map(|(at, _)| (at, why));
    let findings = named.chain(sql).filter(|(at, _)| !source.is_test(*at));
    findings.map(|(at, why)| source.finding(at, why)).collect()
}

fn is_sql(text: &str) -> bool {
    ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "PRAGMA ", "BEGIN"]
        .iter()
        .any(|verb| text.starts_with(verb))
}

/// `src/store/sqlite/mod.rs` is `store`, `sqlite`; `None` for what is not part of the library.
fn module_path(path: &str) -> Option<Vec<&str>> {
    let inside = path.strip_prefix("src/")?.strip_suffix(".rs")?;
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    (!inside.starts_with("bin/")).then(|| inside.split('/').collect())
}

/// Names at the root of the crate that the code uses, each with its place.
fn uses<'s>(source: &'s Source, module: &[&str]) -> Vec<(usize, &'s str)> {
    let up = "super::".repeat(module.len());
    let mut found = Vec::new();
    for prefix in ["crate::", &up] {
        for (at, _) in source.code.match_indices(prefix) {
            let before = &source.code[..at];
            if !before.ends_with("::") && !before.ends_with(is_word) {
                let after = at + prefix.len();
                found.extend(first_names(&source.code[after..]).into_iter().map(|n| (at, n)));
            }
        }
    }
    found
}

/// `a::b` is `a`; `{a::b, c::{d, e}}` is `a` and `c`.
fn first_names(code: &str) -> Vec<&str> {
    let name = |code: &str| code.find(|c| !is_word(c)).unwrap_or(code.len());
    let Some(group) = code.strip_prefix('{') else { return vec![&code[..name(code)]] };
    let (mut depth, mut names, mut begins) = (1, Vec::new(), true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' => begins = depth == 1,
            _ if begins && is_word(c) => {
                names.push(&group[at..at + name(&group[at..])]);
                begins = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}
