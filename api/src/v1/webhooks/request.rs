//! The settings of webhooks, as clients send them.

use serde::{Deserialize, Deserializer, Serialize};
use shared::db::webhook::WebhookSettings;
use shared::event::EventKind;
use shared::skill::is_name;
use shared::webhook::{DEFAULT_EVENTS, EVENTS, JobWebhook, WebhookInclude};
use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder, Type};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::problem::FieldError;
use crate::webhook_target::{RefusedUrls, WebhookTargets};

const MAX_DESCRIPTION_CHARS: usize = 200;
/// The maximum number of skills, and of agents, of a webhook.
const MAX_NAMES: usize = 50;

/// The request to create a webhook.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateWebhook {
    /// The URL to which events are posted: an `https` URL of a public address, with port 443, 80 or a port from 1024.
    /// The operator can allow private networks, also with `http`, with `--webhook-allow`.
    #[schema(example = "https://example.com/hook", max_length = 2048)]
    url: String,
    /// The event types: `job.started`, `job.waiting`, `approval.requested`, `approval.resolved`, `asset.created`,
    /// `job.retrying`, `job.completed`, `job.failed`, `job.cancelled`. The default is the three types that end a job,
    /// and `approval.requested`.
    #[schema(min_items = 1, max_items = 9)]
    events: Option<Vec<String>>,
    /// Only events of jobs of these skills, or of `agents`. If both lists are empty, events of all jobs.
    #[serde(default)]
    #[schema(max_items = 50)]
    skills: Vec<String>,
    /// Only events of jobs of these agents, or of `skills`.
    #[serde(default)]
    #[schema(max_items = 50)]
    agents: Vec<String>,
    /// A note, at most 200 characters.
    #[serde(default)]
    #[schema(max_length = 200)]
    description: String,
    /// With `job`, each event contains the job as `GET /v1/jobs/{job_id}` returns it, unless the event would have 20
    /// KB or more.
    include: Option<WebhookInclude>,
}

/// The request to change a webhook. Fields that are not given stay unchanged.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateWebhook {
    /// The new URL.
    #[schema(max_length = 2048)]
    url: Option<String>,
    /// The new event types.
    #[schema(min_items = 1, max_items = 9)]
    events: Option<Vec<String>>,
    /// The new list of skills.
    #[schema(max_items = 50)]
    skills: Option<Vec<String>>,
    /// The new list of agents.
    #[schema(max_items = 50)]
    agents: Option<Vec<String>>,
    /// The new note, at most 200 characters.
    #[schema(max_length = 200)]
    description: Option<String>,
    /// The additional content of events; null for none.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<WebhookInclude>)]
    include: Option<Option<WebhookInclude>>,
    /// The new status. `active` also enables a webhook that the service disabled. Waiting deliveries are made then.
    pub(super) status: Option<NewWebhookStatus>,
}

/// A webhook status that a client can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NewWebhookStatus {
    /// The webhook delivers events.
    Active,
    /// Deliveries wait.
    Paused,
}

/// The webhook of one job: a URL, or an object with the URL and event types.
#[derive(Clone, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "must be a URL, or an object with `url` and optionally `events`"
)]
pub(crate) enum JobWebhookRequest {
    /// The URL.
    Url(String),
    /// The URL and the event types.
    Settings(JobWebhookSettings),
}

/// The webhook of one job.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobWebhookSettings {
    /// The URL to which events are posted.
    #[schema(max_length = 2048)]
    url: String,
    /// The event types. The default is the three types that end the job, and `approval.requested`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, max_items = 9)]
    events: Option<Vec<String>>,
}

/// Not derived, because the two schemas have no common property that tells them apart.
impl PartialSchema for JobWebhookRequest {
    fn schema() -> RefOr<Schema> {
        let url = ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("The URL."))
            .max_length(Some(2048));
        let schema = AnyOfBuilder::new()
            .item(url)
            .item(Ref::from_schema_name(JobWebhookSettings::name()))
            .description(Some(
                "The webhook of one job: a URL, or an object with `url` and optionally `events`.",
            ));
        RefOr::T(schema.build().into())
    }
}

impl ToSchema for JobWebhookRequest {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        let name = JobWebhookSettings::name().into_owned();
        schemas.push((name, JobWebhookSettings::schema()));
    }
}

/// Distinguishes null from a missing field.
fn given<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<WebhookInclude>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl CreateWebhook {
    /// Returns the settings, and adds an error for each problem.
    pub(super) async fn parse(
        self,
        targets: &WebhookTargets,
        errors: &mut Vec<FieldError>,
    ) -> WebhookSettings {
        let Self {
            url,
            events,
            skills,
            agents,
            description,
            include,
        } = self;
        check_url(targets, "/url", &url, errors).await;
        let settings = WebhookSettings {
            url,
            description,
            events: check_events("/events", events, errors),
            skills,
            agents,
            include_job: include.is_some(),
        };
        check_texts(&settings, errors);
        settings
    }
}

impl UpdateWebhook {
    /// Returns the settings after the change, and adds an error for each problem.
    pub(super) async fn apply(
        self,
        before: WebhookSettings,
        targets: &WebhookTargets,
        errors: &mut Vec<FieldError>,
    ) -> WebhookSettings {
        if let Some(url) = &self.url {
            check_url(targets, "/url", url, errors).await;
        }
        let events = match self.events {
            Some(events) => check_events("/events", Some(events), errors),
            None => before.events,
        };
        let include = self.include.map(|include| include.is_some());
        let settings = WebhookSettings {
            url: self.url.unwrap_or(before.url),
            description: self.description.unwrap_or(before.description),
            events,
            skills: self.skills.unwrap_or(before.skills),
            agents: self.agents.unwrap_or(before.agents),
            include_job: include.unwrap_or(before.include_job),
        };
        check_texts(&settings, errors);
        settings
    }
}

impl JobWebhookRequest {
    /// The URL of the webhook.
    pub(crate) fn url(&self) -> &str {
        match self {
            Self::Url(url) => url,
            Self::Settings(settings) => &settings.url,
        }
    }
}

/// Returns the webhook of a job, and adds an error for each problem. `pointer` is the pointer to the field.
pub(crate) fn check_job_webhook(
    request: &JobWebhookRequest,
    refused: &RefusedUrls,
    pointer: &str,
    errors: &mut Vec<FieldError>,
) -> JobWebhook {
    let (events, url_pointer) = match request {
        JobWebhookRequest::Url(_) => (None, pointer.to_owned()),
        JobWebhookRequest::Settings(settings) => {
            (settings.events.clone(), format!("{pointer}/url"))
        }
    };
    let url = request.url();
    if let Some(error) = refused.get(url) {
        errors.push(FieldError::new(url_pointer, error.to_string()));
    }
    JobWebhook {
        url: url.to_owned(),
        events: check_events(&format!("{pointer}/events"), events, errors),
    }
}

async fn check_url(
    targets: &WebhookTargets,
    pointer: &str,
    url: &str,
    errors: &mut Vec<FieldError>,
) {
    if let Err(error) = targets.check(url).await {
        errors.push(FieldError::new(pointer, error.to_string()));
    }
}

fn check_events(
    pointer: &str,
    given: Option<Vec<String>>,
    errors: &mut Vec<FieldError>,
) -> Vec<String> {
    let names = |events: &[EventKind]| -> Vec<_> {
        let names = events.iter().map(|kind| kind.as_str().to_owned());
        names.collect()
    };
    let Some(given) = given else {
        return names(&DEFAULT_EVENTS);
    };
    let known = names(&EVENTS);
    if given.is_empty() {
        let detail = format!("name at least one of: {}", known.join(", "));
        errors.push(FieldError::new(pointer, detail));
    }
    if given.len() > EVENTS.len() {
        let detail = format!("must have at most {} event types", EVENTS.len());
        errors.push(FieldError::new(pointer, detail));
    }
    for (place, name) in given.iter().take(EVENTS.len()).enumerate() {
        if !known.contains(name) {
            let detail = format!("must be one of: {}", known.join(", "));
            errors.push(FieldError::new(format!("{pointer}/{place}"), detail));
        }
    }
    known
        .into_iter()
        .filter(|name| given.contains(name))
        .collect()
}

fn check_texts(settings: &WebhookSettings, errors: &mut Vec<FieldError>) {
    if settings.description.chars().count() > MAX_DESCRIPTION_CHARS {
        let detail = format!("must have at most {MAX_DESCRIPTION_CHARS} characters");
        errors.push(FieldError::new("/description", detail));
    }
    for (field, names) in [("skills", &settings.skills), ("agents", &settings.agents)] {
        if names.len() > MAX_NAMES {
            let detail = format!("must have at most {MAX_NAMES} names");
            errors.push(FieldError::new(format!("/{field}"), detail));
        }
        for (place, name) in names.iter().take(MAX_NAMES).enumerate() {
            if !is_name(name) {
                let detail = "must be the name of a skill or an agent: lowercase letters, digits and hyphens";
                errors.push(FieldError::new(format!("/{field}/{place}"), detail));
            }
        }
    }
}
