//! The seam: every verb that the engine and the public handle use, and the contract of each. One
//! method has one meaning; a commit may carry several, and each is right as if it were alone. SQL
//! never crosses this line.

pub(crate) mod bus;
#[cfg(test)]
mod conformance;
pub(crate) mod jobs;
pub(crate) mod ledger;
pub(crate) mod people;
pub(crate) mod processes;
pub(crate) mod space;
pub(crate) mod sqlite;

/// A store: what a file, or later a server, must be able to do.
pub(crate) trait Store:
    bus::Bus
    + jobs::Jobs
    + ledger::Ledger
    + people::People
    + processes::Processes
    + space::Space
    + Send
    + Sync
{
}
