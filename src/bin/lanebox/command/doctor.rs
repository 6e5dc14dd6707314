//! `lanebox doctor`: versions, settings, and everything that must never be.

use anyhow::bail;

use super::Session;
use crate::output::table::Table;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Walks whole tables: it takes its time on a large file.\n\nExample:\n  lanebox doctor --db crm.db"
)]
pub struct Doctor {}

impl Doctor {
    pub fn run(&self, session: &Session) -> anyhow::Result<()> {
        let health = session.lanebox.doctor()?;
        if session.out.json {
            session.out.document(&health)?;
        } else {
            let mut facts = Table::plain();
            for fact in &health.facts {
                match &fact.wrong {
                    None => facts.fact(&fact.name, &fact.value),
                    Some(wrong) => facts.fact(&fact.name, format!("{}  <- {wrong}", fact.value)),
                }
            }
            session.out.table(&facts, "")?;
            let mut found = Table::of(&["audit", "rows", "the first", "what should hold"]);
            for one in health.audits.iter().filter(|one| one.count > 0) {
                let rows =
                    if one.count < 1_000 { one.count.to_string() } else { "1000+".to_owned() };
                found.row([
                    one.name.to_owned(),
                    rows,
                    one.first.join(" "),
                    one.sentence.to_owned(),
                ]);
            }
            let all = format!("{} audits, none found anything", health.audits.len());
            session.out.line("")?;
            session.out.table(&found, &all)?;
        }
        let wrong = health.facts.iter().filter(|fact| fact.wrong.is_some()).count();
        let found = health.audits.iter().filter(|one| one.count > 0).count();
        if health.sound {
            return Ok(());
        }
        bail!(
            "{wrong} facts are wrong, {found} audits found rows; nothing was changed. Copy the file \
             before you do anything to it; each fact says what is wrong behind its <-, each audit \
             which rows break its rule"
        )
    }
}
