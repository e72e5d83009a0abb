//! The request for a job: its fields, and its validation with all errors at once.

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
use shared::whole::Whole;
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
pub(crate) use limits::{LimitsRequest, MOST_TOKENS};
use target::AvailableTarget;
pub(super) use target::ResolvedTarget;

pub(super) const NO_CONVERSATION: &str =
    "there is no such conversation; POST /v1/conversations begins one";

const MAX_PROMPT_CHARS: usize = 500_000;
const MAX_INPUTS: usize = 50;
const DEFAULT_ATTEMPTS: i16 = 3;
/// The years of RFC 3339. The type has more than the database can store.
const YEARS: std::ops::RangeInclusive<i32> = 0..=9999;

/// A job to be done.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateJob {
    /// The skill to run. Exactly one of `skill` and `agent`.
    #[schema(example = "image")]
    skill: Option<String>,
    /// The agent to run. Exactly one of `skill` and `agent`.
    agent: Option<String>,
    /// The conversation that an agent's job continues. It waits until those before it have ended.
    conversation_id: Option<ConversationId>,
    /// What lists show of the job, at most 200 characters; the first line of the prompt if not given.
    // Left out if not given, so that requests without new fields keep their digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    title: Option<String>,
    /// The client's own reference, such as an order number, at most 255 characters. Several jobs may have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 255)]
    external_id: Option<String>,
    /// What is wanted, in the person's own words.
    #[schema(example = "Crop to a circle", min_length = 1)]
    prompt: String,
    /// The model, or several of which the next replaces one whose provider is out of reach; the default of the agent,
    /// the skill or the service if not given.
    model: Option<ModelList>,
    /// The files to start from.
    #[serde(default)]
    #[schema(max_items = 50)]
    inputs: Vec<InputRequest>,
    /// The skill's parameters. `GET /v1/skills/{name}` has their schema.
    #[serde(default)]
    parameters: Map<String, Value>,
    /// Which calls of tools wait for a person, or are written down; beside what the skill or the agent says, which
    /// it can only make stricter.
    #[serde(default)]
    #[schema(value_type = Hooks)]
    hooks: HooksRequest,
    /// The JSON Schema (draft 2020-12) of the job's `result`, at most 64 KiB; instead of that of the skill or the
    /// agent. `$ref` may refer to `#/$defs/NAME` of the same schema, without recursion. The job fails with
    /// `result_invalid` if the model hands over nothing that matches, also after two repairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Map<String, Value>>)]
    output_schema: Option<Value>,
    /// What the job may use up.
    #[serde(default)]
    limits: LimitsRequest,
    /// Higher goes first within the tenant; a step is worth a minute of waiting.
    #[serde(default)]
    #[schema(value_type = i16, minimum = -100, maximum = 100)]
    priority: Whole,
    /// The earliest start.
    #[serde(default, deserialize_with = "instant")]
    run_at: Option<DateTime<Utc>>,
    /// How often a fault of the service may end an attempt before the job fails; 3 if not given.
    #[schema(value_type = Option<i16>, minimum = 1, maximum = 20)]
    max_attempts: Option<Whole>,
    /// Where to post milestones of this job: a URL, or an object with `url` and `events`. Signed with the tenant's
    /// default secret, `GET /v1/webhooks/default-secret`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    webhook: Option<JobWebhookRequest>,
    /// Anything of the client's own, given back with the job.
    #[serde(default)]
    metadata: Map<String, Value>,
}

/// A time that the database can store, with errors that say how to write it.
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

/// The things that requests name and that exist.
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
    /// The secrets that the job cannot do without.
    pub(super) secrets: Vec<SecretNeed>,
    pub(super) models: ModelList,
    pub(super) request: JobRequest,
    /// Contents that came with the request, by the place of their input.
    pub(super) inline: Vec<Inline>,
    pub(super) run_at: Option<DateTime<Utc>>,
    pub(super) metadata: Map<String, Value>,
}

impl CreateJob {
    /// The skill that it names.
    pub(super) fn skill(&self) -> Option<&str> {
        self.skill.as_deref()
    }

    /// The agent that it names.
    pub(super) fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// The assets that the inputs name.
    pub(super) fn asset_ids(&self) -> impl Iterator<Item = AssetId> {
        self.inputs.iter().filter_map(|input| input.asset_id)
    }

    /// The conversation that it names.
    pub(super) fn conversation(&self) -> Option<ConversationId> {
        self.conversation_id
    }

    /// The webhook that it brings along.
    pub(super) fn webhook(&self) -> Option<&JobWebhookRequest> {
        self.webhook.as_ref()
    }

    /// Checks everything but the webhook, whose address must be looked up; the errors are all that there are.
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
                        "there is no skill `{name}`; there are: {}, and those that you upload",
                        known.catalog.names().join(", ")
                    ),
                ),
            },
            (None, Some(name)) => match known.agents.get(name) {
                Some(agent) => return Some(AvailableTarget::Agent(agent)),
                None => FieldError::new(
                    "/agent",
                    format!(
                        "there is no agent `{name}`; GET /v1/agents lists those that there are"
                    ),
                ),
            },
            (None, None) => FieldError::new("", "name what to run: one of `skill` and `agent`"),
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
            (_, None) => "only an agent's job continues a conversation".to_owned(),
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
                "say what is wanted; the prompt is empty",
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
                format!("must be at most {MAX_INPUTS}"),
            ));
        }
        let (mut inputs, mut inline) = (Vec::new(), Vec::new());
        for (place, input) in self.inputs.iter().enumerate() {
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

    /// The priority and the number of attempts, as far as they are given.
    fn check_numbers(&self, errors: &mut Vec<FieldError>) -> (Option<i16>, Option<i16>) {
        let priority = number::check(Some(self.priority), Priority::RANGE, "/priority", errors);
        let attempts = number::check(self.max_attempts, 1..=20, "/max_attempts", errors);
        (priority, attempts)
    }
}
