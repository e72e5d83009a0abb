//! `getUpdates`: long polling with one poller.

use std::time::Duration;

use actix_web::web::Data;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::call::{BotCall, CallResult, refused};
use super::state::SharedBotState;

const CONFLICT: &str = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running";
const HAS_WEBHOOK: &str = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first";

/// Confirms the updates before the offset and waits for new ones. A later request ends this one.
pub(super) async fn get_updates(state: &Data<SharedBotState>, call: &BotCall) -> CallResult {
    let offset = call.number("offset").unwrap_or_default();
    let limit = call.number("limit").unwrap_or(100).unsigned_abs();
    let longest = call.number("timeout").unwrap_or_default().unsigned_abs();
    let until = Instant::now() + Duration::from_secs(longest);
    let poll = {
        let mut inner = state.lock();
        if inner.webhook.is_some() {
            return Err(refused(409, HAS_WEBHOOK));
        }
        inner
            .updates
            .retain(|update| update["update_id"].as_i64() >= Some(offset));
        inner.poll += 1;
        inner.poll
    };
    state.changed();
    loop {
        let changed = state.on_change();
        {
            let inner = state.lock();
            if inner.poll != poll {
                return Err(refused(409, CONFLICT));
            }
            if !inner.updates.is_empty() {
                let updates = inner.updates.iter().take(limit as usize).cloned();
                return Ok(Value::Array(updates.collect()));
            }
        }
        if timeout_at(until, changed).await.is_err() {
            return Ok(Value::Array(Vec::new()));
        }
    }
}
