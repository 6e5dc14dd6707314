//! What the targets share: bytes as choices, and a place for files.

mod bytes;
mod place;

pub use bytes::Bytes;
pub use place::{FIXTURE, place, put};
