//! The target of a job: a skill or an agent.

use serde_json::{Map, Value};
use shared::agent::{Agent, AgentSnapshot};
use shared::db::job::Needs;
use shared::job::{OutputSchema, Target};
use shared::limits::Limits;
use shared::model_list::ModelList;
use shared::secret::SecretNeed;
use shared::skill::Network;

use super::input::check_kind;
use crate::problem::FieldError;
use crate::v1::skills;

/// The skill or the agent that a job names.
#[derive(Clone, Copy)]
pub(super) enum AvailableTarget<'a> {
    Skill(&'a skills::AvailableSkill),
    Agent(&'a Agent),
}

/// The skill or the agent of a job, as it was when the job was accepted.
pub(in crate::v1::jobs) struct ResolvedTarget {
    pub(in crate::v1::jobs) target: Target,
    pub(in crate::v1::jobs) skill_version: Option<i32>,
    pub(in crate::v1::jobs) skill_digest: Option<String>,
    pub(in crate::v1::jobs) needs: Needs,
}

impl<'a> AvailableTarget<'a> {
    /// Returns the default limits of jobs.
    pub(super) fn limits(self) -> Limits {
        let default = Limits::DEFAULT;
        match self {
            Self::Skill(skill) => skill.skill().limits,
            Self::Agent(agent) => {
                let limits = agent.settings.limits;
                Limits {
                    timeout_seconds: limits.timeout_seconds.unwrap_or(default.timeout_seconds),
                    max_iterations: limits.max_iterations.unwrap_or(default.max_iterations),
                    max_tokens: limits.max_tokens.unwrap_or(default.max_tokens),
                    approval_timeout_seconds: limits
                        .approval_timeout_seconds
                        .unwrap_or(default.approval_timeout_seconds),
                    max_total_tokens: limits.max_total_tokens,
                    max_cost_usd: limits.max_cost_usd,
                }
            }
        }
    }

    /// Returns the output schema of jobs that have none of their own.
    pub(super) fn output_schema(self) -> Option<&'a OutputSchema> {
        match self {
            Self::Skill(skill) => skill.skill().output_schema.as_ref(),
            Self::Agent(agent) => agent.settings.output_schema.as_ref(),
        }
    }

    /// Returns the models of jobs that name none, if the skill or agent has models.
    pub(super) fn models(self) -> Option<&'a ModelList> {
        match self {
            Self::Skill(skill) => skill.skill().models.as_ref(),
            Self::Agent(agent) => agent.settings.model.as_ref(),
        }
    }

    /// Validates parameters and fills in defaults.
    pub(super) fn parameters_from(
        self,
        given: &Map<String, Value>,
        errors: &mut Vec<FieldError>,
    ) -> Map<String, Value> {
        let wrong = match self {
            Self::Skill(skill) => match skill.skill().parameters_from(given) {
                Ok(parameters) => return parameters,
                Err(wrong) => wrong,
            },
            Self::Agent(_) if given.is_empty() => Vec::new(),
            Self::Agent(_) => {
                let detail = "an agent has no parameters; put the values in the prompt";
                vec![(String::new(), detail.to_owned())]
            }
        };
        let named = wrong
            .into_iter()
            .map(|(place, detail)| FieldError::new(format!("/parameters{place}"), detail));
        errors.extend(named);
        Map::new()
    }

    /// Returns an error if the skill does not accept files of this type. An agent accepts all types.
    pub(super) fn check_kind(self, place: usize, content_type: &str) -> Option<FieldError> {
        match self {
            Self::Skill(skill) => check_kind(skill.skill(), place, content_type),
            Self::Agent(_) => None,
        }
    }

    /// Returns the secrets that jobs receive.
    pub(super) fn secrets(self) -> &'a [SecretNeed] {
        match self {
            Self::Skill(skill) => &skill.skill().secrets,
            Self::Agent(agent) => &agent.settings.secrets,
        }
    }

    /// Returns the skill or agent as a job refers to it, and a snapshot of the agent.
    pub(super) fn parts(self) -> (ResolvedTarget, Option<AgentSnapshot>) {
        match self {
            Self::Skill(found) => {
                let chosen = ResolvedTarget {
                    target: Target::Skill(found.skill().name.clone()),
                    skill_version: found.version(),
                    skill_digest: Some(found.skill().digest.clone()),
                    needs: found.needs(),
                };
                (chosen, None)
            }
            Self::Agent(agent) => {
                let chosen = ResolvedTarget {
                    target: Target::Agent(agent.name.clone()),
                    skill_version: None,
                    skill_digest: None,
                    needs: Needs {
                        programs: None,
                        network: agent.settings.network != Network::None,
                    },
                };
                (chosen, Some(agent.snapshot()))
            }
        }
    }
}
