//! Dispatch of updates to their handler.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::adapter::Adapter;
use crate::album::UpdateGroup;
use crate::bot_error::BotError;
use crate::error::TelegramError;
use crate::inbox;
use crate::outbox::pause;

/// The kinds of updates that the bot receives.
pub(crate) const ALLOWED_UPDATES: [&str; 2] = ["message", "callback_query"];

/// Repeats a call while it fails with a transient error. Returns `None` if the program stops first.
pub(crate) async fn repeat<T>(
    stop: &CancellationToken,
    mut call: impl AsyncFnMut() -> Result<T, TelegramError>,
) -> Result<Option<T>, TelegramError> {
    let mut failures = 0;
    while !stop.is_cancelled() {
        match call().await {
            Err(error) if error.is_transient() => {
                warn!(%error, "trying again");
                pause(failures, stop).await;
                failures += 1;
            }
            done => return done.map(Some),
        }
    }
    Ok(None)
}

/// Handles updates: those of one chat in order, those of different chats concurrently. When it succeeds, Telegram need
/// not send them again.
pub(crate) async fn handle_all(
    adapter: &Adapter,
    groups: Vec<UpdateGroup>,
) -> Result<(), TelegramError> {
    let mut chats: BTreeMap<Option<i64>, Vec<UpdateGroup>> = BTreeMap::new();
    for group in groups {
        let update = &group.updates[0];
        let tapped = update
            .callback_query
            .as_ref()
            .and_then(|tap| tap.message.as_ref());
        let chat = update.message.as_ref().map(|message| message.chat.id);
        let chat = chat.or(tapped.map(|message| message.chat.id));
        chats.entry(chat).or_default().push(group);
    }
    let chats = chats.into_values().map(|groups| async move {
        for group in groups {
            handle(adapter, &group).await?;
        }
        Ok(())
    });
    join_all(chats).await.into_iter().collect()
}

async fn handle(adapter: &Adapter, group: &UpdateGroup) -> Result<(), TelegramError> {
    let handled = repeat(&adapter.stop, async || inbox::handle(adapter, group).await).await;
    match handled {
        Ok(Some(())) => Ok(()),
        Ok(None) => Err(BotError::Stopping.into()),
        Err(error) if error.is_fatal() || error.is_stopping() => Err(error),
        Err(error) => {
            // It would fail again and block all later updates.
            adapter.warn(&error, "giving up on an update");
            Ok(())
        }
    }
}
