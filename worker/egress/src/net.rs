//! Outgoing HTTP of the worker itself, with clients that enforce the address policy.

mod client;
mod fetch;

pub use client::{WebClient, WebClients, explain, not_public};
pub use fetch::{FetchClient, FetchError, Fetched, get};
