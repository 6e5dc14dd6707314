//! The numbers of one run's unnamed sends, and the rule that keeps them: after an answer that wrote
//! nothing, every later send of the run gets the same answer.

use crate::error::Error;
use crate::model::send::Slot;
use crate::model::send::error::SendError;

/// What one run has sent so far.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    used: u32,
    stuck: Option<SendError>,
}

impl Numbering {
    /// The number of the next unnamed send.
    pub(crate) fn next(&mut self) -> Result<Slot, SendError> {
        self.go_on()?;
        if self.used == Slot::MOST {
            let why = format!("a run has at most {} sends without a name", Slot::MOST);
            return Err(SendError::Store(Error::invalid("send", why)));
        }
        self.used += 1;
        Ok(Slot::Seq(self.used))
    }

    /// Whether the run may send at all; else the answer that it got before.
    ///
    /// If bubble 1 is vetoed and swallowed, bubble 2 would take its number; on the next run the
    /// gate allows bubble 1, which finds the receipt of bubble 2, and bubble 2 goes out twice.
    pub(crate) fn go_on(&self) -> Result<(), SendError> {
        self.stuck.as_ref().map_or(Ok(()), |stuck| Err(stuck.again()))
    }

    /// Remembers an answer that used no number, or whose send is not settled.
    pub(crate) fn heard(&mut self, answer: &SendError) {
        self.stuck = answer.sticks().then(|| answer.again());
    }

    /// The call has begun: until its answer is known, it is unknown.
    pub(crate) fn calls(&mut self) {
        self.stuck = Some(SendError::Unknown);
    }

    /// The call was accepted.
    pub(crate) fn accepted(&mut self) {
        self.stuck = None;
    }
}
