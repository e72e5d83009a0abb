//! Webhook verification with the test vectors that all clients share.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;
use skillet_client::{WebhookError, verify_webhook, verify_webhook_at};

#[derive(Deserialize)]
struct Vector {
    name: String,
    now: i64,
    secrets: Vec<String>,
    headers: HashMap<String, String>,
    body: String,
    error: Option<String>,
}

fn vectors() -> Vec<Vector> {
    serde_json::from_str(include_str!("../../../clients/webhook.json")).unwrap()
}

fn verify(vector: &Vector, secrets: &[&str]) -> Result<Value, WebhookError> {
    let now = DateTime::<Utc>::from_timestamp(vector.now, 0).unwrap();
    let header = |name: &str| vector.headers.get(name).map(String::as_str);
    verify_webhook_at(now, vector.body.as_bytes(), header, secrets)
}

#[test]
fn the_vectors_of_all_clients_hold() {
    for vector in vectors() {
        let secrets: Vec<_> = vector.secrets.iter().map(String::as_str).collect();
        let verified = verify(&vector, &secrets);
        let error = match &verified {
            Ok(content) => {
                let sent: Value = serde_json::from_str(&vector.body).unwrap();
                assert_eq!(*content, sent, "{}", vector.name);
                None
            }
            Err(WebhookError::Header(_)) => Some("header"),
            Err(WebhookError::Time) => Some("time"),
            Err(WebhookError::Signature) => Some("signature"),
            Err(error) => panic!("{}: {error}", vector.name),
        };
        assert_eq!(error, vector.error.as_deref(), "{}", vector.name);
    }
}

#[test]
fn a_secret_that_is_malformed_is_an_error_of_the_program() {
    for secret in ["", "whsec_", "whsec_?"] {
        let refused = verify(&vectors()[0], &[secret]);
        assert!(matches!(refused, Err(WebhookError::Secret)), "{secret}");
    }
}

#[test]
fn the_clock_counts() {
    let vector = &vectors()[0];
    let header = |name: &str| vector.headers.get(name).map(String::as_str);
    let late = verify_webhook(vector.body.as_bytes(), header, &[&vector.secrets[0]]);
    assert!(matches!(late, Err(WebhookError::Time)));
}
