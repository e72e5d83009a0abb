//! Deliveries, verified with the Standard Webhooks package for Rust.

use chrono::Utc;
use reqwest::header::{HeaderMap, HeaderName};
use serde_json::Value;
use shared::webhook::WebhookSecret;
use standardwebhooks::{Webhook, WebhookError};

use super::{Created, start};
use crate::support::receiver::{Received, Receiver};

/// Returns the signed headers and the signature.
fn headers(received: &Received) -> HeaderMap {
    let names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    let headers = names.map(|name| {
        let value = received.headers[name].parse().unwrap();
        (HeaderName::from_static(name), value)
    });
    headers.into_iter().collect()
}

#[tokio::test]
async fn a_foreign_verifier_accepts_what_was_sent_and_no_other_byte() {
    let service = start().await;
    let receiver = Receiver::accepting().await;
    let webhook = Created::at(&service, &receiver).await;
    let job = service.create_shell("true").await;
    service.finished(&job).await;
    receiver.until(1).await;
    let rotate = format!("{}/rotate", webhook.path);
    let (_, rotated) = service.post(&rotate, &Value::Null).await;
    let test = format!("{}/test", webhook.path);
    service.post(&test, &Value::Null).await;
    let [event, test] = &receiver.until(2).await[..] else {
        panic!("{:#?}", receiver.received())
    };
    assert_eq!((event.signatures(), test.signatures()), (1, 2));
    let old = Webhook::new(&webhook.secret).unwrap();
    let new = Webhook::new(rotated["secret"].as_str().unwrap()).unwrap();
    for (verifier, received) in [(&old, event), (&old, test), (&new, test)] {
        let headers = headers(received);
        verifier.verify(&received.body, &headers).unwrap();
        for place in 0..received.body.len() {
            let mut changed = received.body.clone();
            changed[place] ^= 1;
            let error = verifier.verify(&changed, &headers).unwrap_err();
            assert!(matches!(error, WebhookError::InvalidSignature), "{error}");
        }
    }
    let error = new.verify(&event.body, &headers(event)).unwrap_err();
    assert!(matches!(error, WebhookError::InvalidSignature), "{error}");
}

#[test]
fn a_foreign_verifier_refuses_an_old_timestamp_and_one_of_tomorrow() {
    let secret = WebhookSecret::generate();
    let verifier = Webhook::new(secret.reveal()).unwrap();
    let verify = |timestamp: i64| {
        let signature = secret.sign("evt_1_2", timestamp, b"{}");
        let headers = [
            ("webhook-id", "evt_1_2".to_owned()),
            ("webhook-timestamp", timestamp.to_string()),
            ("webhook-signature", signature),
        ];
        let headers =
            headers.map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        verifier.verify(b"{}", &headers.into_iter().collect())
    };
    let now = Utc::now().timestamp();
    verify(now).unwrap();
    let old = verify(now - 600).unwrap_err();
    assert!(matches!(old, WebhookError::TimestampTooOldError), "{old}");
    let early = verify(now + 86_400).unwrap_err();
    assert!(
        matches!(early, WebhookError::FutureTimestampError),
        "{early}"
    );
}
