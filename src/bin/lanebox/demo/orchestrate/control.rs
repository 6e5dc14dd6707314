//! Tells the provider to hold requests, and lets them go.

use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;
use ureq::Agent;

use super::super::provider::{Held, Point};

/// The provider's control endpoints.
pub struct Control {
    agent: Agent,
    url: String,
}

#[derive(Deserialize)]
struct AllHeld {
    held: Vec<Held>,
}

impl Control {
    pub fn of(url: &str) -> Self {
        let config = Agent::config_builder().timeout_global(Some(Duration::from_secs(10)));
        Self { agent: config.proxy(None).build().into(), url: url.to_owned() }
    }

    /// The next request that reaches the point will be held there.
    pub fn hold(&self, at: Point) -> anyhow::Result<()> {
        let at = match at {
            Point::BeforeAccept => "before_accept",
            Point::AfterAccept => "after_accept",
        };
        self.post(&format!("control/hold?at={at}"))
    }

    /// A held request, if there is one within this time.
    pub fn held(&self, wait: Duration) -> anyhow::Result<Option<Held>> {
        let url = format!("{}/control/held?wait_ms={}", self.url, wait.as_millis());
        let mut answer = self.agent.get(url).call().context("the provider does not answer")?;
        let all: AllHeld = answer.body_mut().read_json()?;
        Ok(all.held.into_iter().next())
    }

    /// All held requests go on; nothing is asked for any more.
    pub fn release(&self) -> anyhow::Result<()> {
        self.post("control/release")
    }

    fn post(&self, what: &str) -> anyhow::Result<()> {
        let url = format!("{}/{what}", self.url);
        let mut answer =
            self.agent.post(url).send_empty().context("the provider does not answer")?;
        answer.body_mut().read_to_vec()?;
        Ok(())
    }
}
