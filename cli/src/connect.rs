//! The client for a service, as a command uses it.

use skillet_client::{Client, Error, Timing};

/// Connections of an event stream that may fail in a row: two minutes, which is longer than a restart of the service.
const STREAM_ATTEMPTS: u32 = 16;

/// A client that reports a failure at once: the person at the terminal decides whether to try again.
pub(crate) fn connect(url: &str, api_key: &str) -> Result<Client, Error> {
    let timing = Timing {
        attempts: 1,
        stream_attempts: Some(STREAM_ATTEMPTS),
        ..Timing::default()
    };
    Client::builder(url, api_key)
        .user_agent(concat!("skillet-cli/", env!("CARGO_PKG_VERSION")))
        .timing(timing)
        .build()
}
