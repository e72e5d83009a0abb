//! The tenants of a service. Each has an API key, a feed, and a webhook with its own receiver.

use anyhow::Context;
use reqwest::Method;
use serde_json::{Value, json};
use shared::db;
use shared::id::TenantId;
use shared::key::{Scope, SecretKey};
use shared::webhook::EVENTS;

use super::ChaosService;
use crate::chaos::schedule::TENANTS;
use crate::receiver::{Behavior, Receiver};

/// The tenants with a cap on concurrent jobs, and the caps.
pub(crate) const CAPS: [(usize, usize); 1] = [(1, 2)];

/// The webhook of a tenant. It receives all types of events.
pub(crate) struct TenantWebhook {
    pub(crate) secret: String,
    pub(crate) receiver: Receiver,
}

impl ChaosService {
    pub(super) async fn add_tenants(&mut self) -> anyhow::Result<()> {
        let mut tenants: Vec<TenantId> = Vec::new();
        for number in 0..TENANTS {
            let key = SecretKey::generate();
            let name = format!("tenant-{number}");
            let tenant = db::tenant::get_or_insert(&self.pool, &name).await?.id;
            let scopes = [Scope::Jobs, Scope::Admin];
            db::key::insert(&self.pool, tenant, "chaos", &scopes, &key).await?;
            self.keys.push(key.reveal().to_owned());
            // Enable the feed before the first job, so that it contains every milestone.
            db::feed::enable(&self.pool, tenant).await?;
            let webhook = self.create_webhook(number).await?;
            self.webhooks.push(webhook);
            tenants.push(tenant);
        }
        for (tenant, cap) in CAPS {
            let path = format!("/v1/tenants/{}", tenants[tenant]);
            let request = self.access(0).request(tenant, Method::PATCH, &path);
            let request = request.json(&json!({ "max_running": cap }));
            request.send().await?.error_for_status()?;
        }
        Ok(())
    }

    async fn create_webhook(&self, tenant: usize) -> anyhow::Result<TenantWebhook> {
        let receiver = Receiver::accepting().await;
        let body = json!({"url": receiver.url, "events": EVENTS.map(|kind| kind.as_str())});
        let request = self.access(0);
        let request = request.request(tenant, Method::POST, "/v1/webhooks");
        let answer = request.json(&body).send().await?.error_for_status()?;
        let created: Value = answer.json().await?;
        let secret = created["secret"]
            .as_str()
            .context("a webhook has a secret")?;
        Ok(TenantWebhook {
            secret: secret.to_owned(),
            receiver,
        })
    }

    /// Changes the behavior of all receivers for future deliveries.
    pub(super) fn set_receivers(&self, behavior: &Behavior) {
        for webhook in &self.webhooks {
            webhook.receiver.set(behavior.clone());
        }
    }
}
