//! Dispatch, step by step.
