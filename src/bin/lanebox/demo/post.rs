//! Posts a webhook again and again until the receiver has the last word, as the provider does.

use std::time::Duration;

use ureq::Agent;

/// The first wait, doubled after each post that went wrong, up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_millis(500);
const TIMEOUT: Duration = Duration::from_secs(10);
/// A person who looks on is told every so many posts.
const WORRY_EVERY: u32 = 60;

/// The answer that ended the posting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// 200, or a status that says that it will never be taken.
    pub http: u16,
    /// How often it was posted.
    pub posts: u32,
}

impl Delivery {
    pub fn is_acknowledged(&self) -> bool {
        self.http == 200
    }
}

/// Posts webhooks to one address.
pub struct Poster {
    agent: Agent,
    url: String,
    pause: fn(Duration),
}

impl Poster {
    pub fn new(url: &str, pause: fn(Duration)) -> Self {
        let agent = Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .build();
        Self { agent: agent.into(), url: url.to_owned(), pause }
    }

    /// Returns after 200, or after an answer that more posts cannot change. While the receiver is
    /// away it goes on for ever: whoever started this process ends it.
    pub fn post(&self, body: &str) -> Delivery {
        let mut wait = FIRST_WAIT;
        for posts in 1.. {
            let why = match self.once(body) {
                Ok(http) if is_final(http) => return Delivery { http, posts },
                Ok(http) => format!("it answered {http}"),
                Err(error) => error.to_string(),
            };
            if posts % WORRY_EVERY == 0 {
                eprintln!("{} posts to {} and no 200 yet: {why}", posts, self.url);
            }
            (self.pause)(wait);
            wait = (wait * 2).min(LONGEST_WAIT);
        }
        unreachable!("the loop above has no end but its return")
    }

    fn once(&self, body: &str) -> Result<u16, ureq::Error> {
        let request = self.agent.post(&self.url).header("Content-Type", "application/json");
        let mut answer = request.send(body)?;
        let http = answer.status().as_u16();
        // Read to its end, so that the connection can be used again.
        answer.body_mut().read_to_vec()?;
        Ok(http)
    }
}

fn is_final(http: u16) -> bool {
    let may_change = [408, 425, 429];
    http == 200 || ((400..500).contains(&http) && !may_change.contains(&http))
}
