//! Webhooks.

mod claimed;
mod content;
mod delivered;
mod disabled;
mod documented;
mod failing;
mod isolated;
mod of_jobs;
mod refused;
mod secrets;
mod stored;
mod verified;

use serde_json::{Value, json};

use crate::support::receiver::Receiver;
use crate::support::{Service, until};

/// The private network that the tests allow.
const ALLOW: (&str, &str) = ("SKILLET_WEBHOOK_ALLOW", "127.0.0.0/8");

/// Starts a service with a worker that may post to this machine.
async fn start() -> Service {
    let mut service = without_worker().await;
    service.add_worker(&[]).await;
    service
}

async fn without_worker() -> Service {
    Service::with_environment(&[ALLOW]).await
}

/// A webhook that was created.
struct Created {
    path: String,
    secret: String,
}

impl Created {
    async fn with(service: &Service, body: &Value) -> Self {
        let (status, created) = service.post("/v1/webhooks", body).await;
        assert_eq!(status, 201, "{created:#}");
        let text = |field: &str| created[field].as_str().unwrap().to_owned();
        Self {
            path: format!("/v1/webhooks/{}", text("id")),
            secret: text("secret"),
        }
    }

    async fn at(service: &Service, receiver: &Receiver) -> Self {
        Self::with(service, &json!({"url": receiver.url})).await
    }

    async fn get(&self, service: &Service) -> Value {
        let (status, webhook) = service.get(&self.path).await;
        assert_eq!(status, 200, "{webhook:#}");
        webhook
    }

    /// Returns the deliveries, the oldest first.
    async fn deliveries(&self, service: &Service) -> Vec<Value> {
        deliveries(service, &self.path).await
    }

    /// Waits until the only delivery has this status, and returns it.
    async fn until_status(&self, service: &Service, status: &str) -> Value {
        let mut found = Value::Null;
        until(async || {
            let all = self.deliveries(service).await;
            assert!(all.len() <= 1, "{all:#?}");
            found = all.into_iter().next().unwrap_or_default();
            found["status"] == status
        })
        .await;
        found
    }

    async fn set_status(&self, service: &Service, status: &str) {
        let (code, changed) = service.patch(&self.path, &json!({"status": status})).await;
        assert_eq!(code, 200, "{changed:#}");
    }
}

/// Returns the deliveries at a path, the oldest first.
async fn deliveries(service: &Service, path: &str) -> Vec<Value> {
    let (status, page) = service.get(&format!("{path}/deliveries?limit=100")).await;
    assert_eq!(status, 200, "{page:#}");
    let mut all = page["data"].as_array().unwrap().clone();
    all.reverse();
    all
}

/// Makes all pending deliveries due now.
async fn make_due(service: &Service) {
    for change in [
        "update webhook_delivery set due_at = now() where state = 'pending'",
        "update webhook_state set next_at = now()",
        "select pg_notify('skillet_webhook', '')",
    ] {
        sqlx::query(change).execute(&service.pool).await.unwrap();
    }
}
