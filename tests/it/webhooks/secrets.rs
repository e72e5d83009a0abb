//! Secrets: their rotation and the overlap period.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Created, start};
use crate::support::Service;
use crate::support::receiver::Receiver;

/// Ends the overlap period of all rotations.
async fn end_overlap(service: &Service) {
    let end = "update webhook_secret set expires_at = now() - interval '1 second' where expires_at is not null";
    sqlx::query(end).execute(&service.pool).await.unwrap();
}

#[tokio::test]
async fn after_a_rotation_both_secrets_sign_for_a_day() {
    let service = start().await;
    let receiver = Receiver::accepting().await;
    let webhook = Created::at(&service, &receiver).await;
    let test = format!("{}/test", webhook.path);
    service.post(&test, &Value::Null).await;
    let (status, rotated) = service
        .post(&format!("{}/rotate", webhook.path), &Value::Null)
        .await;
    assert_eq!(status, 200, "{rotated:#}");
    assert!(rotated["previous_expires_at"].is_string(), "{rotated:#}");
    let new = rotated["secret"].as_str().unwrap();
    service.post(&test, &Value::Null).await;
    end_overlap(&service).await;
    service.post(&test, &Value::Null).await;
    let received = receiver.until(3).await;
    let verified = received.iter().map(|it| {
        let by = |secret: &str| it.verify(secret).is_ok();
        (it.signatures(), by(&webhook.secret), by(new))
    });
    let verified: Vec<_> = verified.collect();
    assert_eq!(
        verified,
        [(1, true, false), (2, true, true), (1, false, true)]
    );
}

#[tokio::test]
async fn the_default_secret_is_made_once_and_rotated() {
    let service = start().await;
    let path = "/v1/webhooks/default-secret";
    let (status, first) = service.get(path).await;
    assert_eq!(status, 200, "{first:#}");
    assert!(first["secret"].as_str().unwrap().starts_with("whsec_"));
    assert_eq!(service.get(path).await.1, first);
    let (_, rotated) = service.post(&format!("{path}/rotate"), &json!(null)).await;
    assert_ne!(rotated["secret"], first["secret"]);
    assert!(rotated["previous_expires_at"].is_string());
    assert_eq!(service.get(path).await.1, rotated);
    let anonymous = service.anonymous(Method::GET, path).send().await.unwrap();
    assert_eq!(anonymous.status(), 401);
}

#[tokio::test]
async fn each_of_several_rotations_at_once_stores_its_secret() {
    let service = start().await;
    let path = "/v1/webhooks/default-secret/rotate";
    let rotate = async || {
        let (status, rotated) = service.post(path, &Value::Null).await;
        assert_eq!(status, 200, "{rotated:#}");
    };
    tokio::join!(rotate(), rotate(), rotate(), rotate());
    let stored = sqlx::query_scalar::<_, i64>("select count(*) from webhook_secret");
    assert_eq!(stored.fetch_one(&service.pool).await.unwrap(), 4);
}
