//! Shell completion of ids and names from the service.

use std::ffi::OsStr;
use std::time::Duration;

use clap_complete::{ArgValueCompleter, CompletionCandidate};
use serde_json::Value;

use crate::connect::connect;
use crate::output::text_of;
use crate::runtime;
use crate::service::ServiceFile;
use crate::session::{ServiceChoice, ServiceTarget};
use crate::terminal::without_controls;

/// The deadline of a completion. A longer wait is worse than no candidates.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The maximum number of candidates. The newest entries are offered.
const MAX_CANDIDATES: usize = 100;

pub(crate) fn jobs() -> ArgValueCompleter {
    ArgValueCompleter::new(|prefix: &OsStr| candidates("/v1/jobs", "id", job_help, prefix))
}

pub(crate) fn assets() -> ArgValueCompleter {
    named("/v1/assets", "id", "name")
}

pub(crate) fn conversations() -> ArgValueCompleter {
    named("/v1/conversations", "id", "agent")
}

pub(crate) fn schedules() -> ArgValueCompleter {
    named("/v1/schedules", "id", "name")
}

pub(crate) fn webhooks() -> ArgValueCompleter {
    named("/v1/webhooks", "id", "url")
}

pub(crate) fn approvals() -> ArgValueCompleter {
    named("/v1/approvals", "id", "tool")
}

pub(crate) fn skills() -> ArgValueCompleter {
    named("/v1/skills", "name", "title")
}

pub(crate) fn agents() -> ArgValueCompleter {
    named("/v1/agents", "name", "model")
}

pub(crate) fn secrets() -> ArgValueCompleter {
    named("/v1/secrets", "name", "")
}

pub(crate) fn keys() -> ArgValueCompleter {
    named("/v1/keys", "id", "name")
}

pub(crate) fn tenants() -> ArgValueCompleter {
    named("/v1/tenants", "name", "id")
}

pub(crate) fn models() -> ArgValueCompleter {
    named("/v1/models", "name", "")
}

fn named(path: &'static str, value: &'static str, help: &'static str) -> ArgValueCompleter {
    let help = move |entry: &Value| text_of(&entry[help]);
    ArgValueCompleter::new(move |prefix: &OsStr| candidates(path, value, help, prefix))
}

fn job_help(job: &Value) -> String {
    format!("{}: {}", text_of(&job["status"]), text_of(&job["title"]))
}

/// The entries of a list that start with the typed prefix. If no service answers, there are none: completion never
/// fails.
fn candidates(
    path: &str,
    value: &str,
    help: impl Fn(&Value) -> String,
    prefix: &OsStr,
) -> Vec<CompletionCandidate> {
    let prefix = prefix.to_string_lossy();
    let entries = list(path).unwrap_or_default();
    let candidates = entries.iter().map(|entry| (text_of(&entry[value]), entry));
    let fitting = candidates.filter(|(candidate, _)| candidate.starts_with(&*prefix));
    let candidates = fitting.map(|(candidate, entry)| {
        // A title may come from a model.
        let help = without_controls(&help(entry)).replace('\n', " ");
        CompletionCandidate::new(candidate).help((!help.is_empty()).then(|| help.into()))
    });
    candidates.collect()
}

fn list(path: &str) -> Option<Vec<Value>> {
    let (url, api_key) = match ServiceTarget::of(&ServiceChoice::from_environment()).ok()? {
        ServiceTarget::Service(profile) => (profile.url, profile.api_key),
        ServiceTarget::Directory(home) => {
            ServiceFile::read(&home).map(|file| (file.url, file.api_key))?
        }
    };
    let client = connect(&url, &api_key).ok()?;
    let runtime = runtime::for_client().ok()?;
    let listing = client.list(path, &[], Some(MAX_CANDIDATES));
    let listing = async { tokio::time::timeout(TIMEOUT, listing).await };
    runtime.block_on(listing).ok()?.ok()
}
