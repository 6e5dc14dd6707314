//! The ledger by its verbs: every transition, every trap, and what the schema refuses.

mod canary;
mod jobs;
mod orders;
mod people;
mod plans;
mod scenarios;
mod schema;
mod transitions;
mod traps;
