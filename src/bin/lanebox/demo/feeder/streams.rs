//! Divides webhooks into streams that may run beside one another: no contact is in two of them.

use std::collections::HashMap;

use super::super::input::Webhook;
use super::super::webhook::{self, Happening};

const STREAMS: usize = 8;

/// The streams, each in the order of the input. Contacts that share a webhook share a stream.
pub fn streams(webhooks: &[Webhook]) -> Vec<Vec<&Webhook>> {
    let mut groups = Groups::default();
    let places: Vec<usize> = webhooks.iter().map(|webhook| groups.place(webhook)).collect();
    let mut streams = vec![Vec::new(); STREAMS];
    for (webhook, place) in webhooks.iter().zip(places) {
        streams[groups.root(place) % STREAMS].push(webhook);
    }
    streams.retain(|stream| !stream.is_empty());
    streams
}

/// Contacts, joined while webhooks name them together.
#[derive(Default)]
struct Groups {
    of_contact: HashMap<String, usize>,
    /// Each group's parent; a root is its own.
    parents: Vec<usize>,
}

impl Groups {
    /// The group of a webhook's contacts; one of its own if it names none.
    fn place(&mut self, webhook: &Webhook) -> usize {
        let mut place = None;
        for contact in contacts(webhook) {
            let group = match self.of_contact.get(&contact) {
                Some(&group) => self.root(group),
                None => {
                    let group = self.found();
                    self.of_contact.insert(contact, group);
                    group
                }
            };
            if let Some(first) = place {
                self.parents[group] = self.root(first);
            }
            place = Some(self.root(group));
        }
        place.unwrap_or_else(|| self.found())
    }

    fn found(&mut self) -> usize {
        self.parents.push(self.parents.len());
        self.parents.len() - 1
    }

    fn root(&self, mut group: usize) -> usize {
        while self.parents[group] != group {
            group = self.parents[group];
        }
        group
    }
}

fn contacts(webhook: &Webhook) -> Vec<String> {
    let happenings = webhook::parse(webhook.body.as_bytes()).unwrap_or_default();
    let contact = |happening| match happening {
        Happening::Inbound(inbound) => Some(inbound.from),
        Happening::Status(status) => Some(status.recipient),
        Happening::Ignored { .. } => None,
    };
    happenings.into_iter().filter_map(contact).collect()
}
