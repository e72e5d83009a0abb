//! Outgoing HTTP of the worker itself: the address policy, and clients that keep to it.

mod address;
mod client;
mod fetch;

pub use address::{AddressError, AddressPolicy};
pub use client::{WebClient, WebClients, explain};
pub use fetch::{FetchClient, FetchError, Fetched, get};
