//! Holds a request at a chosen point until it is released. This makes "the provider accepted and
//! the worker does not know it" a state that lasts as long as one likes.

use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, oneshot};

/// Where a request can be held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    /// The worker's intent is on disk; the provider has taken nothing. A caller that hangs up
    /// here is never served.
    BeforeAccept,
    /// The provider's log has it; the worker has no answer.
    #[default]
    AfterAccept,
}

/// A request that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    pub at: Point,
    pub key: Option<String>,
    pub to: String,
    pub wamid: Option<String>,
    pub client: Option<String>,
}

#[derive(Default)]
pub struct Holds {
    waiting: Mutex<Waiting>,
    arrived: Notify,
}

#[derive(Default)]
struct Waiting {
    armed: Vec<Point>,
    held: Vec<(Held, oneshot::Sender<()>)>,
}

impl Holds {
    /// One more request will be held at `point`. Returns how many are armed.
    pub fn arm(&self, point: Point) -> usize {
        let mut waiting = self.waiting.lock();
        waiting.armed.push(point);
        waiting.armed.len()
    }

    /// A request comes by: it goes on at once, unless this point is armed.
    pub async fn pass(&self, request: Held) {
        let released = {
            let mut waiting = self.waiting.lock();
            let armed = waiting.armed.iter().position(|&point| point == request.at);
            let Some(armed) = armed else { return };
            waiting.armed.remove(armed);
            let (release, released) = oneshot::channel();
            waiting.held.push((request, release));
            released
        };
        self.arrived.notify_waiters();
        // An error means that the sender is gone, and so is the reason to wait.
        let _ = released.await;
    }

    /// The held requests; waits up to `wait_ms` for a first one.
    pub async fn held(&self, wait_ms: u64) -> Vec<Held> {
        let arrival = async {
            loop {
                let arrived = self.arrived.notified();
                if !self.waiting.lock().held.is_empty() {
                    return;
                }
                arrived.await;
            }
        };
        // Late or not, the answer is the list as it is.
        let _ = tokio::time::timeout(Duration::from_millis(wait_ms), arrival).await;
        self.waiting.lock().held.iter().map(|(held, _)| held.clone()).collect()
    }

    /// Lets all go on and disarms the rest. Returns how many were held.
    pub fn release(&self) -> usize {
        let waiting = std::mem::take(&mut *self.waiting.lock());
        let released = waiting.held.len();
        for (_, release) in waiting.held {
            // The caller may have hung up, which is what holds are for.
            let _ = release.send(());
        }
        released
    }
}
