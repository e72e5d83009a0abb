//! `skillet telegram`.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use skillet_client::Client;
use telegram::{Access, BOT_API_URL, BotToken, TelegramSettings, UpdateSource};
use tokio_util::sync::CancellationToken;

use crate::args::Remote;
use crate::exit::Exit;
use crate::profile::Profile;
use crate::service::ServiceFile;
use crate::session::{ServiceChoice, ServiceTarget};
use crate::shutdown::ShutdownSignals;
use crate::terminal::{print, say};

/// Options of `skillet telegram`.
#[derive(Args)]
pub(crate) struct Telegram {
    /// The token of the bot, from @BotFather
    #[arg(
        long,
        env = "SKILLET_TELEGRAM_TOKEN",
        value_name = "TOKEN",
        hide_env_values = true
    )]
    telegram_token: Option<String>,
    /// A file with the token of the bot
    #[arg(
        long,
        env = "SKILLET_TELEGRAM_TOKEN_FILE",
        value_name = "FILE",
        conflicts_with = "telegram_token"
    )]
    telegram_token_file: Option<PathBuf>,
    /// The ids of the users and groups that may use the bot, separated by commas [default: one user, who sends the code
    /// that is printed at startup]
    #[arg(
        long,
        env = "SKILLET_TELEGRAM_ALLOW",
        value_name = "IDS",
        value_parser = parse_ids,
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    allow: ChatIds,
    /// The ids of the users who may approve tool calls, separated by commas [default: all users of the bot]
    #[arg(
        long,
        env = "SKILLET_TELEGRAM_APPROVERS",
        value_name = "IDS",
        value_parser = parse_ids,
        default_value = "",
        hide_default_value = true
    )]
    approvers: ChatIds,
    /// The agent of new conversations
    #[arg(
        long,
        env = "SKILLET_TELEGRAM_AGENT",
        default_value = "default",
        value_name = "NAME"
    )]
    agent: String,
    /// The model of all jobs and its fallbacks, separated by commas [default: the model of the agent, the skill or the
    /// service]
    #[arg(
        long,
        env = "SKILLET_TELEGRAM_MODEL",
        value_name = "MODEL",
        value_delimiter = ','
    )]
    model: Vec<String>,
    /// The URL of the service for links [default: the URL of the service]
    #[arg(long, env = "SKILLET_PUBLIC_URL", value_name = "URL")]
    link_url: Option<String>,
    /// The public URL for updates from Telegram. It must forward to --webhook-listen [default: the bot polls Telegram
    /// for updates]
    #[arg(
        long,
        env = "SKILLET_TELEGRAM_WEBHOOK_URL",
        value_name = "URL",
        requires = "webhook_listen"
    )]
    webhook_url: Option<String>,
    /// The address to listen on for --webhook-url, behind a TLS proxy
    #[arg(
        long,
        env = "SKILLET_TELEGRAM_WEBHOOK_LISTEN",
        value_name = "ADDRESS",
        requires = "webhook_url"
    )]
    webhook_listen: Option<SocketAddr>,
    /// The URL of the Bot API server. A self-hosted server accepts files of up to 2 GB
    #[arg(
        long,
        env = "SKILLET_TELEGRAM_API_URL",
        default_value = BOT_API_URL,
        value_name = "URL"
    )]
    bot_api_url: String,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

/// Ids of users and groups.
#[derive(Clone)]
struct ChatIds(Vec<i64>);

/// Runs the bot until a signal ends it.
pub(crate) async fn telegram(options: Telegram) -> anyhow::Result<Exit> {
    let mut signals = ShutdownSignals::listen()?;
    let service = find_service(&options.remote)?;
    let client = Client::builder(&service.url, &service.api_key)
        .user_agent(concat!("skillet-telegram/", env!("CARGO_PKG_VERSION")))
        .build()?;
    let settings = options.settings(&service.url)?;
    if let Some(code) = settings.access.pairing_code() {
        say(&format!(
            "nobody may use the bot yet: send it `/start {code}`, which is valid once"
        ));
    }
    let stop = CancellationToken::new();
    let ready = |name: &str| {
        let _ = print(&format!("the bot is https://t.me/{name}"));
    };
    let running = telegram::run(client, settings, stop.clone(), ready);
    tokio::pin!(running);
    tokio::select! {
        ended = &mut running => ended?,
        () = signals.any() => {
            stop.cancel();
            // A second signal does not wait for calls in progress.
            tokio::select! {
                ended = running => ended?,
                () = signals.any() => {}
            }
        }
    }
    Ok(Exit::Done)
}

impl Telegram {
    fn settings(self, service_url: &str) -> anyhow::Result<TelegramSettings> {
        let link_url = self.link_url.as_deref().unwrap_or(service_url);
        let source = match (self.webhook_listen, self.webhook_url) {
            (Some(listen), Some(url)) => UpdateSource::Webhook { listen, url },
            _ => UpdateSource::Polling,
        };
        let token = match (self.telegram_token, self.telegram_token_file) {
            (Some(token), _) => token,
            (None, Some(file)) => std::fs::read_to_string(&file)
                .with_context(|| format!("cannot read {}", file.display()))?,
            (None, None) => bail!(
                "the token of the bot is missing: ask @BotFather for one, and set SKILLET_TELEGRAM_TOKEN or \
                 --telegram-token-file"
            ),
        };
        Ok(TelegramSettings {
            token: BotToken::parse(&token)?,
            access: Access::new(self.allow.0, self.approvers.0),
            agent: self.agent,
            models: self.model,
            link_url: link_url.trim_end_matches('/').to_owned(),
            source,
            bot_api_url: self.bot_api_url.trim_end_matches('/').to_owned(),
        })
    }
}

fn parse_ids(text: &str) -> Result<ChatIds, String> {
    let parts = text.split(',').map(str::trim);
    let ids = parts.filter(|part| !part.is_empty()).map(|part| {
        let wrong = |_| {
            format!(
                "`{part}` is not the id of a user or a group: write to the bot, and it answers with the id"
            )
        };
        part.parse().map_err(wrong)
    });
    ids.collect::<Result<_, _>>().map(ChatIds)
}

/// The service that the options select. The bot does not start a temporary service.
fn find_service(remote: &Remote) -> anyhow::Result<Profile> {
    match ServiceTarget::of(&ServiceChoice::from(remote))? {
        ServiceTarget::Service(profile) => Ok(profile),
        ServiceTarget::Directory(home) => {
            let file = ServiceFile::read(&home).with_context(|| {
                format!(
                    "no service runs in {}: start one with `skillet up`, or name one with --url",
                    home.display()
                )
            })?;
            Ok(Profile {
                url: file.url,
                api_key: file.api_key,
            })
        }
    }
}
