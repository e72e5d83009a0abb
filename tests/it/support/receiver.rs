//! A receiver of webhooks, and signed requests to other receivers.

use std::time::Duration;

use shared::webhook::WebhookSecret;

pub(crate) use tests::receiver::{Behavior, Received, Receiver};

/// Posts a signed body to a receiver, as the service does, and returns the status of the response.
pub(crate) async fn post_signed(
    url: &str,
    secret: &str,
    age: Duration,
    body: &str,
    sent: &str,
) -> u16 {
    let secret = WebhookSecret::parse(secret).unwrap();
    let timestamp = chrono::Utc::now().timestamp() - age.as_secs().cast_signed();
    let request = reqwest::Client::new()
        .post(url)
        .header("content-type", "application/json")
        .header("webhook-id", "evt_1_2")
        .header("webhook-timestamp", timestamp)
        .header(
            "webhook-signature",
            secret.sign("evt_1_2", timestamp, body.as_bytes()),
        )
        .body(sent.to_owned());
    request.send().await.unwrap().status().as_u16()
}
