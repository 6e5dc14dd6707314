//! The suite that every store must pass: a plain reference model and a random driver, a matrix of
//! every state and every verb, what the schema refuses, the plans of all statements, and the
//! scenarios that the store alone can show.

mod accepting;
mod beside;
mod caps;
mod clock;
mod cost;
mod fences;
mod fixture;
mod leases;
mod matrix;
mod order;
mod outcomes;
mod plans;
mod random;
mod reference;
mod refused;
mod stops;
mod tables;
mod world;
