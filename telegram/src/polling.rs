//! Long polling of Telegram for updates.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use tracing::warn;

use crate::adapter::Adapter;
use crate::album::{album_members, gather};
use crate::bot_error::BotError;
use crate::dispatch::{ALLOWED_UPDATES, handle_all};
use crate::error::TelegramError;
use crate::outbox::pause;
use crate::update::BotUpdate;

/// The longest time that Telegram holds a request.
const POLL: Duration = Duration::from_secs(50);
/// The time in which the other files of an album arrive.
const ALBUM_PAUSE: Duration = Duration::from_millis(1500);
/// The maximum number of checks of an album that still grows. Telegram allows ten files.
const MAX_ALBUM_POLLS: usize = 10;

/// Receives updates until the adapter stops. Telegram keeps each update until the first request after its handling.
pub(crate) async fn serve(
    adapter: &Adapter,
    on_ready: impl FnOnce(&str),
) -> Result<(), TelegramError> {
    // While a webhook is set, Telegram does not answer polls.
    adapter
        .bot
        .call::<Value>("deleteWebhook", &json!({}))
        .await?;
    on_ready(&adapter.username);
    let mut offset = 0;
    let mut failures = 0;
    while !adapter.stop.is_cancelled() {
        let polled = tokio::select! {
            () = adapter.stop.cancelled() => break,
            polled = poll(adapter, offset) => polled,
        };
        let updates = match polled {
            Ok(updates) => updates,
            Err(error) if error.is_conflict() => return Err(TelegramError::AnotherProcess),
            Err(error) if error.is_wrong_token() => return Err(TelegramError::WrongToken),
            Err(error) => {
                warn!(%error, "cannot receive updates; trying again");
                pause(failures, &adapter.stop).await;
                failures += 1;
                continue;
            }
        };
        failures = 0;
        let Some(last) = updates.iter().map(|update| update.update_id).max() else {
            continue;
        };
        match handle_all(adapter, gather(updates)).await {
            Err(error) if error.is_stopping() => break,
            handled => handled?,
        }
        offset = last + 1;
    }
    confirm(adapter, offset).await;
    Ok(())
}

/// Returns the next updates, with all files of an album.
async fn poll(adapter: &Adapter, offset: i64) -> Result<Vec<BotUpdate>, BotError> {
    let mut updates = get_updates(adapter, offset, POLL).await?;
    for _ in 0..MAX_ALBUM_POLLS {
        let members = album_members(&updates);
        if members == 0 {
            break;
        }
        sleep(ALBUM_PAUSE).await;
        updates = get_updates(adapter, offset, Duration::ZERO).await?;
        if album_members(&updates) == members {
            break;
        }
    }
    Ok(updates)
}

/// Confirms the handled updates to Telegram before the process ends.
async fn confirm(adapter: &Adapter, offset: i64) {
    if offset > 0 {
        let _ = get_updates(adapter, offset, Duration::ZERO).await;
    }
}

async fn get_updates(
    adapter: &Adapter,
    offset: i64,
    longest: Duration,
) -> Result<Vec<BotUpdate>, BotError> {
    let body = json!({
        "offset": offset,
        "timeout": longest.as_secs(),
        "allowed_updates": ALLOWED_UPDATES,
    });
    let updates: Vec<Value> = adapter.bot.poll("getUpdates", &body, longest).await?;
    Ok(updates.into_iter().filter_map(readable).collect())
}

/// Parses an update. If that fails, only its id is kept, so that Telegram does not send it again and again.
fn readable(update: Value) -> Option<BotUpdate> {
    let update_id = update["update_id"].as_i64()?;
    let read = serde_json::from_value(update);
    Some(read.unwrap_or_else(|error| {
        warn!(update_id, %error, "an update cannot be read");
        BotUpdate {
            update_id,
            message: None,
            callback_query: None,
        }
    }))
}
