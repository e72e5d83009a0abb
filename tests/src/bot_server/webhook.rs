//! Delivery of updates to the bot's webhook. Each update is sent until the bot responds with success.

use std::collections::HashSet;
use std::time::Duration;

use actix_web::web::Data;
use serde_json::Value;

use super::state::SharedBotState;

/// The pause before an update is sent again.
const PAUSE: Duration = Duration::from_millis(100);

/// Sends updates concurrently for as long as the server runs.
pub(super) async fn deliver(state: Data<SharedBotState>) {
    let http = reqwest::Client::new();
    let mut begun: HashSet<i64> = HashSet::new();
    loop {
        let changed = state.on_change();
        let (webhook, updates) = {
            let inner = state.lock();
            (inner.webhook.clone(), inner.updates.clone())
        };
        if webhook.is_some() {
            for update in updates {
                let id = update["update_id"].as_i64().unwrap_or_default();
                if begun.insert(id) {
                    actix_web::rt::spawn(send(state.clone(), http.clone(), update, id));
                }
            }
        }
        changed.await;
    }
}

async fn send(state: Data<SharedBotState>, http: reqwest::Client, update: Value, id: i64) {
    loop {
        let webhook = state.lock().webhook.clone();
        if let Some((url, secret)) = webhook {
            let request = http.post(url).json(&update);
            let request = request.header("X-Telegram-Bot-Api-Secret-Token", secret);
            let answer = request.send().await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                break;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
    state.lock().updates.retain(|it| it["update_id"] != id);
    state.changed();
}
