//! Answers to messages and taps. An answer that has to wait does not block the handling of other updates.

use futures_util::poll;
use tokio::task::unconstrained;
use tracing::warn;

use crate::adapter::Adapter;
use crate::bot_error::BotError;
use crate::error::TelegramError;
use crate::outbox::OutgoingText;
use crate::place::ChatPlace;

/// Sends an answer. If the chat is busy or at its rate limit, the answer is sent later, in the order of the answers.
pub(crate) async fn send(
    adapter: &Adapter,
    place: ChatPlace,
    out: OutgoingText,
) -> Result<(), TelegramError> {
    if try_send(adapter, place, &out).await? {
        return Ok(());
    }
    let outbox = adapter.outbox.clone();
    queue(
        adapter,
        async move { outbox.send(place, &out).await.map(drop) },
    )
    .await;
    Ok(())
}

/// Sends an answer with one attempt if the chat permits it now. Returns whether Telegram has accepted it.
pub(crate) async fn try_send(
    adapter: &Adapter,
    place: ChatPlace,
    out: &OutgoingText,
) -> Result<bool, TelegramError> {
    match adapter.outbox.try_send(place, out).await {
        Ok(is_sent) => Ok(is_sent),
        Err(error) if error.is_wrong_token() => Err(error.into()),
        Err(error) => {
            warn!(%error, "cannot send an answer");
            Ok(false)
        }
    }
}

/// Edits a message, after the earlier calls of the chat.
pub(crate) async fn edit(adapter: &Adapter, place: ChatPlace, message: i64, out: OutgoingText) {
    let outbox = adapter.outbox.clone();
    queue(
        adapter,
        async move { outbox.edit(place, message, &out).await },
    )
    .await;
}

/// Starts a call, and completes it in its own task.
async fn queue(
    adapter: &Adapter,
    call: impl Future<Output = Result<(), BotError>> + Send + 'static,
) {
    let Ok(permit) = adapter.queued_answers.clone().try_acquire_owned() else {
        warn!("too many answers are waiting; dropping one");
        return;
    };
    let mut call = Box::pin(unconstrained(async move {
        if let Err(error) = call.await {
            warn!(%error, "cannot send an answer");
        }
        drop(permit);
    }));
    // The first poll adds the call to the queue of its chat, before later answers.
    if poll!(&mut call).is_pending() {
        adapter.tasks.spawn(call);
    }
}
