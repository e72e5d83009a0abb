//! The client that commands use to call a service.

use skillet_client::{Client, Error, Timing};

/// The number of failed connections in a row after which an event stream ends with an error. They take two minutes,
/// which is longer than a restart of the service.
const STREAM_ATTEMPTS: u32 = 16;

/// Creates a client that reports a failed request at once. The user at the terminal decides whether to try again.
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
