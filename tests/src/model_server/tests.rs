//! Tests of the scripted model server over HTTP.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod client;
mod failure;
mod history;
mod streaming;
mod violation;
