//! Tools that ask servers. Every address is judged, at every hop; a skill that names hosts gets no others.

mod body;
mod client;
mod fetch;
mod html;
mod reach;
mod request;
mod response;
mod text;

pub(crate) use client::{WebClients, explain};
pub(super) use fetch::WebFetch;
pub(super) use request::HttpRequest;
