//! The nouns and the pure decisions about them: plain values, no file, no clock, no chance.

pub(crate) mod backoff;
pub(crate) mod consumer;
pub(crate) mod event;
pub(crate) mod id;
pub(crate) mod job;
pub(crate) mod lane;
pub(crate) mod outcome;
pub(crate) mod pattern;
pub(crate) mod room;
pub(crate) mod send;
pub(crate) mod text;
pub(crate) mod verdict;
