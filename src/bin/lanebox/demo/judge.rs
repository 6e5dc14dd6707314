//! `demo judge`: says, from three files alone, whether the demo kept its word. It shares no code
//! with the engine: it reads two logs of the outside world and the database by plain SQL.
//!
//! What each figure stands on:
//!
//! - **lost**: a bubble of an acknowledged message that the provider's log does not hold, unless
//!   an open notice tells a person of it, or consent vetoed it. Which messages were acknowledged
//!   is the feeder's word. Which bubbles a message has is what the step `think` of its
//!   `inbound_turn` recorded; one, if no step finished. An open notice (any that is not resolved)
//!   excuses the bubbles that it keeps back and no other: that of an unknown send covers its own
//!   bubble and the later ones, which wait for it; that of a dead job or a dead delivery on the way
//!   to the reply covers all. Consent excuses if the job ended as vetoed, not before the
//!   acknowledged STOP of its contact was in the database. A message that still waits is lost
//!   as well, and says so: it was judged too early.
//! - **duplicated**: each accept of one (message, bubble) beyond the first. An accept is traced by
//!   its key: the try, its send (whose `seq` is the bubble), the job by the send's origin, and the
//!   message in that job's payload. Two jobs for one message are found as well.
//! - **unexpected**: an accept that cannot be traced so, or whose message nobody wrote, or is a
//!   STOP, or is of another contact than the recipient; an accept whose text is not, to the byte,
//!   the one its step recorded; an accept whose intent is later than the millisecond in which the
//!   feeder recorded that its contact's STOP was acknowledged (a resend keeps its first intent); a
//!   second `message.sent` of one message; and an end of a job by a token that was not its last:
//!   another row of the job carries a later token, or the same token had already lost the job.
//! - **overlapped**: a run that began before an earlier run of its lane had ended, earlier being
//!   the smaller token. The lane is the one in the file, and for an `inbound_turn` also its
//!   contact: a worker that forgets lanes must not pass for one that keeps them.
//!
//! Times are the wall clock of one machine in milliseconds. The engine reads it while it holds the
//! write lock, so they follow the order of the commits; only a clock that steps back during the
//! demo could show an overlap that was none. Runs that touch in one millisecond do not overlap.
//!
//! A run is in the file from its claim until its end was committed. For a run that lost its lease
//! that end is the moment in which the loss was counted. The worker's thread may go on beyond it
//! (that is what a freeze does), and the file cannot know how long. It need not: until then nobody
//! else may be given the lane, and from then on the run owns nothing. What it still does is judged
//! by its effects: a completion (stale token), an intent or a step (later runs would show another
//! token), an accept of the provider (duplicated).
//!
//! A message is known to the judge if the feeder's log holds it, or else if its event is in the
//! database: a webhook whose 200 never came may have been committed and answered.

mod accepts;
mod database;
mod evidence;
mod fault;
mod fed;
mod index;
mod lanes;
mod lost;
mod picture;
mod report;
#[cfg(test)]
pub mod tests;

use std::path::PathBuf;

use anyhow::bail;

use evidence::Evidence;
pub use lost::Survivor;
pub use report::Report;

/// Options of `demo judge`.
#[derive(Debug, clap::Args)]
pub struct JudgeArgs {
    /// What the provider accepted
    #[arg(long, value_name = "FILE")]
    provider_log: PathBuf,
    /// What the receiver acknowledged
    #[arg(long, value_name = "FILE")]
    feeder_log: PathBuf,
    /// The database; it is only read
    #[arg(long, value_name = "FILE")]
    db: PathBuf,
    /// What the demo did to its processes; without it, kills are told as 0
    #[arg(long, value_name = "FILE")]
    kills_log: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Judges and prints.
///
/// # Errors
///
/// A file that cannot be read, and any of the four figures that is not 0.
pub fn run(args: &JudgeArgs) -> anyhow::Result<()> {
    let report = Report::of(&Evidence::read(args)?);
    if args.json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        println!("{report}");
    }
    let guilty = report.guilty();
    if !guilty.is_empty() {
        bail!("the demo did not keep its word: {}", guilty.join(", "));
    }
    Ok(())
}
