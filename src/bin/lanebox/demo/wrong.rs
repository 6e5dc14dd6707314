//! What a process of the demo does wrong on purpose. Without the feature `sabotage`: nothing.

#[cfg(feature = "sabotage")]
use super::orchestrate::Sabotage;

/// Mounted into the arguments of whoever can do wrong.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct Wrong {
    #[cfg(feature = "sabotage")]
    #[arg(long, value_enum)]
    sabotage: Option<Sabotage>,
}

#[cfg(feature = "sabotage")]
impl Wrong {
    /// Sends again under a new key as soon as nobody knows what became of the first call.
    pub fn blind_retry(self) -> bool {
        self.sabotage == Some(Sabotage::BlindRetry)
    }

    /// Says 200 before the commit.
    pub fn ack_early(self) -> bool {
        self.sabotage == Some(Sabotage::AckEarly)
    }

    /// Puts no turn into its contact's lane.
    pub fn no_lane(self) -> bool {
        self.sabotage == Some(Sabotage::NoLane)
    }

    /// Thinks anew in every run.
    pub fn step_less(self) -> bool {
        self.sabotage == Some(Sabotage::StepLess)
    }

    /// Plants what is planted in the library: a run ends its job that does not hold it any more.
    pub fn plant(self) {
        if self.sabotage == Some(Sabotage::NoToken) {
            lanebox::testing::ignore_tokens();
        }
    }
}

#[cfg(not(feature = "sabotage"))]
impl Wrong {
    pub fn blind_retry(self) -> bool {
        false
    }

    pub fn ack_early(self) -> bool {
        false
    }

    pub fn no_lane(self) -> bool {
        false
    }

    pub fn step_less(self) -> bool {
        false
    }

    pub fn plant(self) {}
}
