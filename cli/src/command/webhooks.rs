//! `skillet webhooks`.

mod deliveries;
mod listen;
mod settings;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use shared::id::WebhookId;
use skillet_client::Client;

use crate::args::parse_id;
use crate::complete;
use crate::exit::Exit;
use crate::noun::Verb;
use crate::output::{Cell, Column, OutputFormat, ResourceKind, text_of};
use crate::terminal::print;
use deliveries::{DELIVERY, DeliveriesOptions, RecoverOptions, RedeliverOptions};
use listen::ListenOptions;
use settings::{CreateWebhookOptions, UpdateWebhookOptions};

const KIND: ResourceKind = ResourceKind {
    id: "id",
    columns: &[
        Column::new("ID", |it| Cell::text(&it["id"])),
        Column::new("STATUS", status),
        Column::new("SINCE", since),
        Column::new("EVENTS", |it| Cell::text(&it["events"])),
        Column::new("URL", |it| Cell::text(&it["url"])),
    ],
};

#[derive(Subcommand)]
pub(crate) enum Webhooks {
    /// List webhooks, newest first
    List(ListWebhooksOptions),
    /// Show a webhook
    Get(WebhookArgument),
    /// Create a webhook, and print it with its secret. The secret is not shown again
    Create(CreateWebhookOptions),
    /// Change a webhook
    Update(UpdateWebhookOptions),
    /// Delete webhooks with their deliveries
    Delete(WebhookArguments),
    /// Pause webhooks. Deliveries wait until the webhook is resumed
    Pause(WebhookArguments),
    /// Resume webhooks, including those that the service disabled
    Resume(WebhookArguments),
    /// Send a test event, and show the result
    Test(WebhookArgument),
    /// List deliveries, newest first
    Deliveries(DeliveriesOptions),
    /// Redeliver an event
    Redeliver(RedeliverOptions),
    /// Redeliver all events that failed since a time
    Recover(RecoverOptions),
    /// Replace the secret of a webhook, and print the new secret. The old secret also signs for 24 hours
    Rotate(WebhookArgument),
    /// Print the secret that signs the webhooks of jobs
    Secret(SecretOptions),
    /// Forward signed events of all jobs to a local address until interrupted. For development
    Listen(ListenOptions),
}

#[derive(Args, Default)]
pub(crate) struct ListWebhooksOptions {
    /// The maximum number of webhooks [default: 20]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

#[derive(Args)]
pub(crate) struct WebhookArgument {
    /// The id of the webhook
    #[arg(value_parser = parse_id::<WebhookId>, add = complete::webhooks())]
    webhook: WebhookId,
}

#[derive(Args)]
pub(crate) struct WebhookArguments {
    /// The ids of the webhooks
    #[arg(required = true, value_name = "WEBHOOK", value_parser = parse_id::<WebhookId>)]
    #[arg(add = complete::webhooks())]
    webhooks: Vec<WebhookId>,
}

#[derive(Args)]
pub(crate) struct SecretOptions {
    /// Replace the secret first. The old secret also signs for 24 hours
    #[arg(long)]
    rotate: bool,
}

impl Verb for Webhooks {
    fn default() -> Self {
        Self::List(ListWebhooksOptions::default())
    }

    async fn run(&self, client: &Client, output: OutputFormat) -> anyhow::Result<Exit> {
        match self {
            Self::List(ListWebhooksOptions { limit }) => {
                let limit = limit.unwrap_or(20) as usize;
                output.list(&client.list("/v1/webhooks", &[], Some(limit)).await?, &KIND)?;
            }
            Self::Get(WebhookArgument { webhook }) => {
                let webhook: Value = client.get(&path(*webhook), &[]).await?;
                output.fields(&KIND, &webhook)?;
            }
            Self::Create(options) => {
                let created: Value = client.post("/v1/webhooks", &options.body()).await?;
                output.fields(&KIND, &created)?;
            }
            Self::Update(options) => {
                let path = path(options.one.webhook);
                let updated: Value = client.patch(&path, &options.body()?).await?;
                output.fields(&KIND, &updated)?;
            }
            Self::Delete(WebhookArguments { webhooks }) => {
                for id in webhooks {
                    client.delete(&path(*id)).await?;
                    output.done(&KIND, "deleted", &id.to_string())?;
                }
            }
            Self::Pause(arguments) => {
                set_status(client, output, arguments, "paused", "paused").await?;
            }
            Self::Resume(arguments) => {
                set_status(client, output, arguments, "active", "resumed").await?;
            }
            Self::Test(WebhookArgument { webhook }) => {
                let path = format!("{}/test", path(*webhook));
                let delivery: Value = client.post(&path, &Value::Null).await?;
                output.fields(&DELIVERY, &delivery)?;
                if delivery["status"] != "delivered" {
                    return Ok(Exit::Failed);
                }
            }
            Self::Deliveries(options) => options.list(client, output).await?,
            Self::Redeliver(options) => options.redeliver(client, output).await?,
            Self::Recover(options) => options.recover(client, output).await?,
            Self::Rotate(WebhookArgument { webhook }) => {
                let path = format!("{}/rotate", path(*webhook));
                show_secret(output, &client.post(&path, &Value::Null).await?)?;
            }
            Self::Secret(SecretOptions { rotate }) => {
                let path = "/v1/webhooks/default-secret";
                let secret = if *rotate {
                    let path = format!("{path}/rotate");
                    client.post(&path, &Value::Null).await?
                } else {
                    client.get(path, &[]).await?
                };
                show_secret(output, &secret)?;
            }
            Self::Listen(options) => return options.listen(client, output).await,
        }
        Ok(Exit::Done)
    }
}

async fn set_status(
    client: &Client,
    output: OutputFormat,
    WebhookArguments { webhooks }: &WebhookArguments,
    status: &str,
    done: &str,
) -> anyhow::Result<()> {
    for id in webhooks {
        let change = json!({"status": status});
        client.patch::<Value>(&path(*id), &change).await?;
        output.done(&KIND, done, &id.to_string())?;
    }
    Ok(())
}

fn show_secret(output: OutputFormat, revealed: &Value) -> anyhow::Result<()> {
    let secret = text_of(&revealed["secret"]);
    output.one(&secret, revealed, || print(&secret))
}

fn path(id: WebhookId) -> String {
    format!("/v1/webhooks/{id}")
}

/// The status. An active webhook is `failing` while its attempts fail, and is disabled after five days.
fn status(webhook: &Value) -> Cell {
    let reason = text_of(&webhook["disabled_reason"]);
    if !reason.is_empty() {
        return Cell::Status(format!("disabled: {reason}"));
    }
    if webhook["status"] == "active" && !webhook["failing_since"].is_null() {
        return Cell::Status("failing".to_owned());
    }
    Cell::status(&webhook["status"])
}

/// The time since which the webhook has been disabled or failing.
fn since(webhook: &Value) -> Cell {
    Cell::time(match webhook["status"].as_str() {
        Some("disabled") => &webhook["disabled_at"],
        Some("active") => &webhook["failing_since"],
        _ => &Value::Null,
    })
}
