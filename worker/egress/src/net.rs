//! Outgoing HTTP of the worker itself: clients that keep to the address policy.

mod client;
mod fetch;

pub use client::{WebClient, WebClients, explain};
pub use fetch::{FetchClient, FetchError, Fetched, get};
