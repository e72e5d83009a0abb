//! The request to create a job, and its validation. All errors are reported at once.

mod field;
mod hooks;
mod input;
mod limits;
mod scheduled;
mod target;

use std::collections::HashMap;

use chrono::{DateTime, Datelike, Utc};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use shared::agent::Agent;
use shared::conversation::Conversation;
use shared::hook::Hooks;
use shared::id::{AssetId, ConversationId};
use shared::job::preview::MAX_TITLE_CHARS;
use shared::job::{Input, JobRequest, Origin, Priority, preview};
use shared::limits::Limits;
use shared::model_list::ModelList;
use shared::provider::Providers;
use shared::secret::SecretNeed;
use shared::skill::Catalog;
use shared::whole_number::WholeNumber;
use utoipa::ToSchema;

use crate::number;
use crate::problem::FieldError;
use crate::v1::skills;
use crate::v1::webhooks::JobWebhookRequest;
pub(crate) use field::{
    check_external_id, check_metadata, check_models, check_output_schema, pointer_of,
};
use field::{check_length, check_price};
pub(crate) use hooks::HooksRequest;
use input::Checked;
pub(crate) use input::InputRequest;
pub(super) use input::{Inline, KnownAssets};
pub(crate) use limits::{LimitsRequest, MAX_TOKENS};
use target::AvailableTarget;
pub(super) use target::ResolvedTarget;

pub(super) const NO_CONVERSATION: &str =
    "there is no such conversation; POST /v1/conversations creates one";

const MAX_PROMPT_CHARS: usize = 500_000;
const MAX_INPUTS: usize = 50;
const DEFAULT_ATTEMPTS: i16 = 3;
/// The years of RFC 3339. The type allows more years than the database can store.
pub(crate) const YEARS: std::ops::RangeInclusive<i32> = 0..=9999;

/// The request to create a job.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateJob {
    /// The skill to run. Exactly one of `skill` and `agent`.
    #[schema(example = "image")]
    skill: Option<String>,
    /// The agent to run. Exactly one of `skill` and `agent`.
    agent: Option<String>,
    /// The conversation that a job of an agent continues. The job waits until the earlier jobs of the conversation
    /// have ended.
    conversation_id: Option<ConversationId>,
    /// The title of the job in lists, at most 200 characters; the first line of the prompt by default.
    // Omitted if not given, so that requests without new fields keep their digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    title: Option<String>,
    /// The client's own reference, such as an order number, at most 255 characters. It does not have to be unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 255)]
    external_id: Option<String>,
    /// The task, in the user's own words, at most 500,000 characters.
    #[schema(example = "Crop to a circle", min_length = 1)]
    prompt: String,
    /// The model, or a list in which the next model replaces one whose provider is unavailable. The default is that
    /// of the agent, the skill or the service.
    model: Option<ModelList>,
    /// The input files.
    #[serde(default)]
    #[schema(max_items = 50)]
    inputs: Vec<InputRequest>,
    /// The parameters of the skill. `GET /v1/skills/{name}` returns their schema.
    #[serde(default)]
    parameters: Map<String, Value>,
    /// Rules for tool calls that need approval or that are logged, in addition to the rules of the skill or the
    /// agent. They can only make those rules stricter.
    #[serde(default)]
    #[schema(value_type = Hooks)]
    hooks: HooksRequest,
    /// The JSON Schema (draft 2020-12) of the job's `result`, at most 64 KiB. It replaces the schema of the skill or
    /// the agent. `$ref` may refer to `#/$defs/NAME` of the same schema, without recursion. If the model returns no
    /// matching result, even after two corrections, the job fails with `result_invalid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Map<String, Value>>)]
    output_schema: Option<Value>,
    /// The limits of the job.
    #[serde(default)]
    limits: LimitsRequest,
    /// The priority within the tenant; 0 by default. Higher priorities start first. One step counts as one minute of
    /// waiting.
    #[serde(default)]
    #[schema(value_type = i16, minimum = -100, maximum = 100)]
    priority: WholeNumber,
    /// The earliest start; now by default.
    #[serde(default, deserialize_with = "instant")]
    run_at: Option<DateTime<Utc>>,
    /// The number of attempts that can end with an internal error before the job fails; 3 by default.
    #[schema(value_type = Option<i16>, minimum = 1, maximum = 20)]
    max_attempts: Option<WholeNumber>,
    /// The webhook for milestones of this job: a URL, or an object with `url` and `events`. Deliveries are signed
    /// with the tenant's default secret, which `GET /v1/webhooks/default-secret` returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    webhook: Option<JobWebhookRequest>,
    /// Data that the client attaches, at most 16 KiB of JSON. It is returned with the job.
    #[serde(default)]
    metadata: Map<String, Value>,
}

/// Deserializes a time that the database can store. The errors show the expected format.
pub(crate) fn instant<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<DateTime<Utc>>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    let instant = text.map(|text| text.parse::<DateTime<Utc>>()).transpose();
    let instant = instant
        .map_err(|_| D::Error::custom("must be a date and time such as 2026-11-22T08:30:00Z"))?;
    if instant.is_some_and(|at| !YEARS.contains(&at.year())) {
        return Err(D::Error::custom("must have a year of four digits"));
    }
    Ok(instant)
}

/// The existing objects that requests refer to.
pub(super) struct References<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) providers: &'a Providers,
    pub(super) assets: KnownAssets,
    pub(super) skills: HashMap<String, skills::AvailableSkill>,
    pub(super) agents: HashMap<String, Agent>,
    pub(super) conversations: HashMap<ConversationId, Conversation>,
}

/// A valid request.
pub(crate) struct Parsed {
    pub(super) chosen: ResolvedTarget,
    pub(super) title: String,
    pub(super) external_id: Option<String>,
    pub(super) conversation: Option<ConversationId>,
    /// The secrets that the job requires.
    pub(super) secrets: Vec<SecretNeed>,
    pub(super) models: ModelList,
    pub(super) request: JobRequest,
    /// The files that came with the request, each with the place of its input.
    pub(super) inline: Vec<Inline>,
    pub(super) run_at: Option<DateTime<Utc>>,
    pub(super) metadata: Map<String, Value>,
}

impl CreateJob {
    /// Returns the skill that the request names.
    pub(super) fn skill(&self) -> Option<&str> {
        self.skill.as_deref()
    }

    /// Returns the agent that the request names.
    pub(super) fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// Returns the assets that the inputs name.
    pub(super) fn asset_ids(&self) -> impl Iterator<Item = AssetId> {
        self.inputs.iter().filter_map(|input| input.asset_id)
    }

    /// Returns the conversation that the request names.
    pub(super) fn conversation(&self) -> Option<ConversationId> {
        self.conversation_id
    }

    /// Returns the webhook of the request.
    pub(super) fn webhook(&self) -> Option<&JobWebhookRequest> {
        self.webhook.as_ref()
    }

    /// Validates everything except the webhook, whose host name must be looked up. Returns all errors at once.
    pub(super) fn parse(self, known: &References<'_>) -> Result<Parsed, Vec<FieldError>> {
        let mut errors = Vec::new();
        let found = self.check_target(known, &mut errors);
        errors.extend(self.check_conversation(&known.conversations));
        self.check_prompt(&mut errors);
        let models = self.check_models(found, known.providers, &mut errors);
        let parameters = found.map_or_else(Map::new, |found| {
            found.parameters_from(&self.parameters, &mut errors)
        });
        let (inputs, inline) = self.check_inputs(found, &known.assets, &mut errors);
        let defaults = found.map_or(Limits::DEFAULT, AvailableTarget::limits);
        let limits = self.limits.parse_with(defaults, &mut errors);
        errors.extend(check_price(&limits, models.as_ref(), known.providers));
        let output_schema = check_output_schema(self.output_schema.as_ref(), &mut errors)
            .or_else(|| found.and_then(AvailableTarget::output_schema).cloned());
        let hooks = self.hooks.check(&mut errors);
        let (priority, max_attempts) = self.check_numbers(&mut errors);
        errors.extend(check_metadata(&self.metadata));
        errors.extend(check_length(
            "/title",
            self.title.as_deref(),
            MAX_TITLE_CHARS,
        ));
        errors.extend(check_external_id(self.external_id.as_deref()));
        let (Some(found), Some(models)) = (found.filter(|_| errors.is_empty()), models) else {
            return Err(errors);
        };
        let secrets = found.secrets().iter().filter(|secret| secret.required);
        let secrets = secrets.cloned().collect();
        let (chosen, agent) = found.parts();
        let title = self.title.unwrap_or_else(|| preview::title(&self.prompt));
        let request = JobRequest {
            prompt: self.prompt,
            models: models.has_fallback().then(|| models.clone()),
            inputs,
            parameters,
            hooks,
            limits,
            output_schema,
            max_attempts: max_attempts.unwrap_or(DEFAULT_ATTEMPTS),
            priority: Priority(priority.unwrap_or_default()),
            agent,
            webhook: None,
            origin: Origin::current(),
        };
        Ok(Parsed {
            chosen,
            title,
            external_id: self.external_id,
            conversation: self.conversation_id,
            secrets,
            models,
            request,
            inline,
            run_at: self.run_at,
            metadata: self.metadata,
        })
    }

    fn check_target<'a>(
        &self,
        known: &'a References<'_>,
        errors: &mut Vec<FieldError>,
    ) -> Option<AvailableTarget<'a>> {
        let error = match (&self.skill, &self.agent) {
            (Some(name), None) => match known.skills.get(name) {
                Some(skill) => return Some(AvailableTarget::Skill(skill)),
                None => FieldError::new(
                    "/skill",
                    format!(
                        "there is no skill `{name}`; valid values: {}, and the skills that you upload",
                        known.catalog.names().join(", ")
                    ),
                ),
            },
            (None, Some(name)) => match known.agents.get(name) {
                Some(agent) => return Some(AvailableTarget::Agent(agent)),
                None => FieldError::new(
                    "/agent",
                    format!("there is no agent `{name}`; GET /v1/agents lists all agents"),
                ),
            },
            (None, None) => FieldError::new("", "name what to run: set `skill` or `agent`"),
            (Some(_), Some(_)) => {
                FieldError::new("/agent", "a job runs a skill or an agent, not both")
            }
        };
        errors.push(error);
        None
    }

    fn check_conversation(
        &self,
        known: &HashMap<ConversationId, Conversation>,
    ) -> Option<FieldError> {
        let id = self.conversation_id?;
        let detail = match (known.get(&id), &self.agent) {
            (_, None) => "only a job with an agent can continue a conversation".to_owned(),
            (None, _) => NO_CONVERSATION.to_owned(),
            (Some(conversation), Some(agent)) if conversation.agent != *agent => {
                format!(
                    "this conversation is with the agent `{}`",
                    conversation.agent
                )
            }
            (Some(_), Some(_)) => return None,
        };
        Some(FieldError::new("/conversation_id", detail))
    }

    fn check_prompt(&self, errors: &mut Vec<FieldError>) {
        if self.prompt.trim().is_empty() {
            errors.push(FieldError::new(
                "/prompt",
                "the prompt is empty: describe the task",
            ));
        } else if self.prompt.chars().count() > MAX_PROMPT_CHARS {
            let detail = format!(
                "must have at most {MAX_PROMPT_CHARS} characters; send long texts as inputs"
            );
            errors.push(FieldError::new("/prompt", detail));
        }
    }

    fn check_models(
        &self,
        found: Option<AvailableTarget<'_>>,
        providers: &Providers,
        errors: &mut Vec<FieldError>,
    ) -> Option<ModelList> {
        let own = self.model.as_ref();
        let named = own.or_else(|| found.and_then(AvailableTarget::models));
        let default = || providers.default_model.clone().map(ModelList::from);
        let Some(models) = named.cloned().or_else(default) else {
            errors.push(FieldError::new(
                "/model",
                "name a model; this service has no default",
            ));
            return None;
        };
        errors.extend(check_models(&models, providers));
        Some(models)
    }

    fn check_inputs(
        &self,
        found: Option<AvailableTarget<'_>>,
        assets: &KnownAssets,
        errors: &mut Vec<FieldError>,
    ) -> (Vec<Input>, Vec<Inline>) {
        if self.inputs.len() > MAX_INPUTS {
            errors.push(FieldError::new(
                "/inputs",
                format!("must have at most {MAX_INPUTS} inputs"),
            ));
        }
        let (mut inputs, mut inline) = (Vec::new(), Vec::new());
        for (place, input) in self.inputs.iter().take(MAX_INPUTS).enumerate() {
            match input.check(place, assets) {
                Ok(Checked {
                    input,
                    content_type,
                    content,
                }) => {
                    if let (Some(found), Some(content_type)) = (found, content_type) {
                        errors.extend(found.check_kind(place, &content_type));
                    }
                    inputs.push(input);
                    inline.extend(content);
                }
                Err(error) => errors.push(error),
            }
        }
        (inputs, inline)
    }

    /// Returns the priority and the number of attempts, if they are given and valid.
    fn check_numbers(&self, errors: &mut Vec<FieldError>) -> (Option<i16>, Option<i16>) {
        let priority = number::check(Some(self.priority), Priority::RANGE, "/priority", errors);
        let attempts = number::check(self.max_attempts, 1..=20, "/max_attempts", errors);
        (priority, attempts)
    }
}
