//! How blows are dealt, that no process is left behind, what is waited for, and what is told.

mod child;
mod plan;
mod stage;
mod summary;
mod watch;
