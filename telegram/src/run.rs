//! The lifecycle of the adapter.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use skillet_client::Client;
use tokio_util::sync::CancellationToken;

use crate::adapter::Adapter;
use crate::bot::Bot;
use crate::chat_jobs::ChatJobs;
use crate::command::COMMANDS;
use crate::dispatch::repeat;
use crate::error::TelegramError;
use crate::job_task;
use crate::polling;
use crate::settings::{TelegramSettings, UpdateSource};
use crate::webhook;

#[derive(Deserialize)]
struct BotUser {
    username: Option<String>,
}

/// Runs the adapter until it is told to stop. `on_ready` receives the name of the bot.
///
/// After that, calls in progress are completed and recorded, and no further call starts.
pub async fn run(
    client: Client,
    settings: TelegramSettings,
    stop: CancellationToken,
    on_ready: impl FnOnce(&str),
) -> Result<(), TelegramError> {
    let bot = Bot::new(&settings.bot_api_url, settings.token.clone())?;
    let Some(username) = introduce(&bot, &stop).await? else {
        return Ok(());
    };
    let settings = Arc::new(settings);
    let adapter = Adapter::new(client, bot, settings, username, stop.child_token());
    let ended = serve(&adapter, on_ready).await;
    adapter.stop.cancel();
    adapter.close().await;
    ended
}

async fn serve(adapter: &Adapter, on_ready: impl FnOnce(&str)) -> Result<(), TelegramError> {
    let Some(()) = resume(adapter).await? else {
        return Ok(());
    };
    match adapter.settings.source.clone() {
        UpdateSource::Polling => polling::serve(adapter, on_ready).await,
        UpdateSource::Webhook { listen, url } => {
            webhook::serve(adapter, listen, &url, on_ready).await
        }
    }
}

/// Gets the name of the bot from Telegram, and sets its menu. Returns `None` if the program stops first.
async fn introduce(bot: &Bot, stop: &CancellationToken) -> Result<Option<String>, TelegramError> {
    let commands = COMMANDS.map(|(command, text)| json!({"command": command, "description": text}));
    let commands = json!({"commands": commands});
    let call = async || {
        let me: BotUser = bot.call("getMe", &json!({})).await?;
        bot.call::<Value>("setMyCommands", &commands).await?;
        Ok::<_, TelegramError>(me.username.unwrap_or_default())
    };
    let name = repeat(stop, call).await;
    match name {
        Err(TelegramError::Bot(error)) if error.is_wrong_token() => Err(TelegramError::WrongToken),
        name => name,
    }
}

/// Follows the jobs with messages that are still to be sent.
async fn resume(adapter: &Adapter) -> Result<Option<()>, TelegramError> {
    let jobs = ChatJobs {
        client: &adapter.client,
        bot: adapter.bot.id(),
    };
    let open = repeat(&adapter.stop, async || Ok(jobs.open().await?)).await?;
    Ok(open.map(|jobs| {
        jobs.iter()
            .for_each(|job| job_task::follow(adapter, job.id));
    }))
}
