//! Who watches a measurement: what is being measured goes to their terminal, and an interrupt of
//! theirs ends it in order.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::bail;

/// Asked before each measurement, and while one waits.
pub struct Watch {
    enough: Arc<AtomicBool>,
    shows: bool,
}

impl Watch {
    /// From now on an interrupt is noted instead of ending the process.
    pub fn begin() -> Watch {
        use signal_hook::consts::{SIGINT, SIGTERM};
        let enough = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // The second one ends the process: what hangs must end too. Where signals cannot be
            // caught the system's rule stays.
            let _ = signal_hook::flag::register_conditional_shutdown(signal, 1, enough.clone());
            let _ = signal_hook::flag::register(signal, enough.clone());
        }
        Watch { enough, shows: io::stderr().is_terminal() }
    }

    /// Says what comes next, unless it is enough.
    pub fn next(&self, what: &str) -> anyhow::Result<()> {
        self.go_on()?;
        if self.shows {
            eprint!("\r\x1b[K{what} ...");
        }
        Ok(())
    }

    /// # Errors
    /// The user has interrupted it.
    pub fn go_on(&self) -> anyhow::Result<()> {
        if self.enough.load(Ordering::Relaxed) {
            bail!("it was interrupted");
        }
        Ok(())
    }

    /// Takes the last of these words off the terminal.
    pub fn clear(&self) {
        if self.shows {
            eprint!("\r\x1b[K");
        }
    }
}
