//! `skillet webhooks listen`: webhooks for development, on a machine that the service cannot reach.

use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use reqwest::{Url, redirect};
use serde_json::{Value, json};
use shared::feed::FeedEvent;
use shared::webhook::{DEFAULT_EVENTS, WebhookSecret, content, event_id};
use skillet_client::Client;

use super::settings::FilterOptions;
use crate::exit::Exit;
use crate::output::OutputFormat;
use crate::terminal::{print, print_json, say};

/// The deadline of an attempt. The service has the same one.
const TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Args)]
pub(crate) struct ListenOptions {
    /// The URL to forward events to, such as http://localhost:3000/hook
    #[arg(long, value_name = "URL", value_parser = parse_url)]
    forward_to: Url,
    #[command(flatten)]
    filter: FilterOptions,
    /// The secret that signs events [default: a new secret, which is printed]
    #[arg(
        long,
        env = "SKILLET_WEBHOOK_SECRET",
        value_name = "SECRET",
        hide_env_values = true,
        value_parser = WebhookSecret::parse
    )]
    secret: Option<WebhookSecret>,
}

impl ListenOptions {
    /// Forwards each event once, until interrupted. An event that the receiver rejects is shown and not sent again.
    pub(super) async fn listen(
        &self,
        client: &Client,
        output: OutputFormat,
    ) -> anyhow::Result<Exit> {
        let http = reqwest::Client::builder()
            .user_agent(concat!("skillet/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .timeout(TIMEOUT)
            .build()
            .context("cannot create an HTTP client")?;
        let secret = self.secret.clone();
        let secret = secret.unwrap_or_else(WebhookSecret::generate);
        let mut events = client.events().types(self.types());
        // The first item is the position where the stream begins.
        let mut next = events.next().await?;
        if self.secret.is_none() {
            say(&format!("signing with {}", secret.reveal()));
        }
        say(&format!("forwarding events to {}", self.forward_to));
        loop {
            if let Some(event) = next.event.filter(|event| self.is_wanted(event)) {
                let result = self.forward(&http, &secret, &event).await;
                show(output, &event, &result)?;
            }
            next = events.next().await?;
        }
    }

    fn types(&self) -> Vec<String> {
        let names = DEFAULT_EVENTS.iter().map(|kind| kind.as_str().to_owned());
        self.filter
            .events
            .clone()
            .unwrap_or_else(|| names.collect())
    }

    /// Whether the event passes the skill and agent filters: the skill or the agent must be listed, as for webhooks.
    /// The stream can filter by one skill and one agent only.
    fn is_wanted(&self, event: &FeedEvent) -> bool {
        let FilterOptions { skills, agents, .. } = &self.filter;
        let is_in = |list: &Option<Vec<String>>, name: &Option<String>| match (list, name) {
            (Some(list), Some(name)) => list.contains(name),
            _ => false,
        };
        (skills.is_none() && agents.is_none())
            || is_in(skills, &event.skill)
            || is_in(agents, &event.agent)
    }

    async fn forward(
        &self,
        http: &reqwest::Client,
        secret: &WebhookSecret,
        event: &FeedEvent,
    ) -> Forwarded {
        let id = event_id(event.job_id, event.seq);
        let timestamp = shared::clock::now().timestamp();
        let body = content(event, None);
        let begun_at = Instant::now();
        let request = http
            .post(self.forward_to.clone())
            .header("content-type", "application/json")
            .header("webhook-id", &id)
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", secret.sign(&id, timestamp, &body))
            .body(body);
        let answer = request.send().await;
        Forwarded {
            id,
            result: match answer {
                Ok(response) => Ok(response.status().as_u16()),
                Err(error) => Err(format!("{:#}", anyhow::Error::new(error.without_url()))),
            },
            took: begun_at.elapsed(),
        }
    }
}

/// A forwarded event.
struct Forwarded {
    id: String,
    /// The status of the response, or the error.
    result: Result<u16, String>,
    took: Duration,
}

fn show(output: OutputFormat, event: &FeedEvent, forwarded: &Forwarded) -> anyhow::Result<()> {
    let Forwarded { id, result, took } = forwarded;
    if output.json {
        let mut line = json!({"event_id": id, "event": event, "ms": took.as_millis()});
        match result {
            Ok(status) => line["status"] = Value::from(*status),
            Err(error) => line["error"] = Value::from(error.as_str()),
        }
        return print_json(&line);
    }
    if output.quiet {
        return print(id);
    }
    let result = match result {
        Ok(status) => status.to_string(),
        Err(error) => error.clone(),
    };
    let (kind, job, ms) = (&event.kind, event.job_id, took.as_millis());
    print(&format!("{kind} {job}: {result} in {ms} ms"))
}

fn parse_url(text: &str) -> Result<Url, &'static str> {
    let url: Option<Url> = text.parse().ok();
    url.filter(|url| matches!(url.scheme(), "http" | "https"))
        .ok_or("must be a URL such as http://localhost:3000/hook")
}
