//! What people see of a file: the plain values that Lanebox answers to those who look after it.

pub use crate::store::people::Finding;
