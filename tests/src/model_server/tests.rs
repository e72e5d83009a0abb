//! The scripted model, asked over HTTP as any client would ask it.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod client;
mod failure;
mod history;
mod streaming;
mod violation;
