//! What the tests of the ledger stand on, wherever they are.

pub(crate) mod world;
