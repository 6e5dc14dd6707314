//! What the receiver acknowledged, as the feeder's log has it.

use std::collections::{BTreeMap, HashMap};

use super::super::log::{Answer, FeederRecord};

/// The acknowledged messages. Duplicates count once.
#[derive(Debug, Default)]
pub struct Fed {
    /// Messages that expect a reply, each with its contact.
    pub expecting: BTreeMap<String, String>,
    /// Messages that withdraw consent, each with its contact.
    pub stops: BTreeMap<String, String>,
    /// When the first STOP of each contact was known to be acknowledged.
    pub stopped_at: HashMap<String, i64>,
    /// Messages that were only ever refused.
    pub refused: Vec<String>,
    /// When lines were written: for the length of the demo.
    pub moments: Vec<i64>,
}

impl Fed {
    pub fn of(records: &[FeederRecord]) -> Self {
        let mut fed = Self::default();
        for record in records {
            fed.moments.push(record.at_ms);
            match record.what {
                Answer::Acknowledged => fed.acknowledge(record),
                Answer::Refused => {
                    fed.refused.extend(record.messages.iter().map(|message| message.wamid.clone()));
                }
            }
        }
        let Self { expecting, stops, refused, .. } = &mut fed;
        refused.retain(|wamid| !expecting.contains_key(wamid) && !stops.contains_key(wamid));
        fed
    }

    fn acknowledge(&mut self, record: &FeederRecord) {
        for message in &record.messages {
            let (wamid, contact) = (message.wamid.clone(), message.from.clone());
            if message.stop {
                let first = self.stopped_at.entry(contact.clone()).or_insert(record.at_ms);
                *first = record.at_ms.min(*first);
                self.stops.insert(wamid, contact);
            } else {
                self.expecting.insert(wamid, contact);
            }
        }
    }
}
