//! A skill, as the API returns it.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use shared::asset::OutputKind;
use shared::db::skill::StoredSkill;
use shared::db::skill_packages::InstalledPackages;
use shared::db::worker::Worker;
use shared::model_list::ModelList;
use shared::sandbox::Isolation;
use shared::secret::SecretNeed;
use shared::skill::{Inputs, Network, Program, Skill, SkillOrigin};
use utoipa::ToSchema;

/// A skill, and whether workers can run it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Skill)]
pub(crate) struct SkillView {
    /// The name of the skill.
    #[schema(example = "image")]
    name: String,
    /// The title, for people.
    title: String,
    /// The description: what the skill does and when to use it.
    description: String,
    /// The kinds of input files that the skill accepts; null for any.
    inputs: Option<Vec<OutputKind>>,
    /// The kinds of output files that the skill makes.
    outputs: Vec<OutputKind>,
    /// The JSON Schema of the parameters.
    #[schema(value_type = Map<String, Value>)]
    parameters: Value,
    /// The hosts that the skill's commands can reach: `none`, `public`, or a list of hosts. A host can come from a
    /// parameter or a secret of the job.
    #[schema(example = "github.com parameter:repository")]
    network: String,
    /// The secrets that the skill's jobs receive, if the tenant has set them.
    secrets: Vec<SecretNeed>,
    /// The model of jobs that name none, or a list of models in the order in which they are tried. Null for the
    /// service's default.
    #[schema(required)]
    model: Option<ModelList>,
    /// The default maximum duration of a job, in seconds.
    timeout_seconds: u32,
    /// The default maximum number of model replies of a job.
    max_iterations: u32,
    /// The default maximum number of tokens of one reply.
    max_tokens: u32,
    /// The maximum duration of a command, in seconds.
    command_seconds: u32,
    /// The origin of the skill.
    origin: SkillOrigin,
    /// The version. Null unless the tenant uploaded the skill.
    #[schema(required)]
    version: Option<i32>,
    /// When this version was uploaded. Null unless the tenant uploaded the skill.
    #[schema(required)]
    created_at: Option<DateTime<Utc>>,
    /// The SHA-256 of all files of the skill in their stored form, in hexadecimal.
    digest: String,
    /// Whether a live worker can run the skill.
    available: bool,
    /// Whether an administrator has paused the skill. Its jobs wait while it is paused.
    paused: bool,
    /// Descriptions of what is missing on the worker that lacks the least, with the package that provides it. Empty
    /// if a worker can run the skill.
    missing: Vec<String>,
    /// Descriptions of optional programs, and of packages in `requirements.txt` or `package.json`, that are missing
    /// on the worker that lacks the fewest of them. Jobs run without them.
    missing_optional: Vec<String>,
    /// Settings in the front matter that have no effect, such as tools that do not exist, and packages that could not
    /// be installed.
    warnings: Vec<String>,
    /// The programs that the skill may use and that workers have, with the versions on the workers.
    #[schema(example = json!({"ffmpeg": ["6.1.1", "7.0.2"]}))]
    programs: BTreeMap<String, BTreeSet<String>>,
}

impl SkillView {
    /// Returns the view of a skill of the service. Workers report which of these skills they can run.
    pub(super) fn of_service(skill: &Skill, origin: SkillOrigin, workers: &[Worker]) -> Self {
        let has_it = |worker: &Worker| worker.skills.contains(&skill.name);
        let missing = if workers.iter().any(has_it) {
            Vec::new()
        } else {
            missing(skill, workers)
        };
        Self {
            available: workers.iter().any(has_it),
            ..Self::new(skill, origin, missing, workers)
        }
    }

    /// Returns the view of a skill of the tenant. Every worker that has what the skill needs can run it.
    pub(super) fn uploaded(stored: &StoredSkill, skill: &Skill, workers: &[Worker]) -> Self {
        Self {
            version: Some(stored.version),
            created_at: Some(stored.created_at),
            ..Self::new(
                skill,
                SkillOrigin::Uploaded,
                missing(skill, workers),
                workers,
            )
        }
    }

    /// Adds the results of installing the packages of the skill on the machines of workers.
    pub(super) fn with_packages(
        mut self,
        skill: &Skill,
        outcomes: &[InstalledPackages],
        workers: &[Worker],
    ) -> Self {
        if outcomes.iter().any(|it| it.trouble.is_none()) {
            let packages: BTreeSet<_> = skill.packages().cloned().collect();
            let lacking = workers.iter().map(|worker| {
                skill.missing_optional(&installed(worker).union(&packages).cloned().collect())
            });
            self.missing_optional = lacking.min_by_key(Vec::len).unwrap_or_default();
        }
        let troubles = outcomes.iter().filter_map(|it| it.trouble.as_ref());
        self.warnings.extend(
            troubles.map(|trouble| {
                format!("its packages could not be installed on a worker: {trouble}")
            }),
        );
        self
    }

    /// Returns the name of the skill.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Sets whether the skill is one of these paused skills.
    pub(super) fn paused_as(self, paused: &[String]) -> Self {
        Self {
            paused: paused.contains(&self.name),
            ..self
        }
    }

    fn new(skill: &Skill, origin: SkillOrigin, missing: Vec<String>, workers: &[Worker]) -> Self {
        Self {
            name: skill.name.clone(),
            title: skill.title.clone(),
            description: skill.description.clone(),
            inputs: if let Inputs::Only(kinds) = &skill.inputs {
                Some(kinds.clone())
            } else {
                None
            },
            outputs: skill.outputs.clone(),
            parameters: skill.parameters.as_value().clone(),
            network: skill.network.to_string(),
            secrets: skill.secrets.clone(),
            model: skill.models.clone(),
            timeout_seconds: skill.limits.timeout_seconds,
            max_iterations: skill.limits.max_iterations,
            max_tokens: skill.limits.max_tokens,
            command_seconds: skill.command_seconds,
            origin,
            version: None,
            created_at: None,
            digest: skill.digest.clone(),
            available: missing.is_empty(),
            paused: false,
            missing,
            missing_optional: missing_optional(skill, workers),
            warnings: skill.warnings.clone(),
            programs: programs(skill, workers),
        }
    }
}

/// Returns the programs of the skill that workers have, with the versions that the workers report.
fn programs(skill: &Skill, workers: &[Worker]) -> BTreeMap<String, BTreeSet<String>> {
    let needs = skill.programs.iter().chain(&skill.optional);
    let wanted = needs.flat_map(|need| &need.0);
    let mut found = BTreeMap::new();
    for name in wanted.map(Program::to_string) {
        for worker in workers {
            if worker.programs.contains(&name) {
                let versions: &mut BTreeSet<_> = found.entry(name.clone()).or_default();
                versions.extend(worker.program_versions.get(&name).cloned());
            }
        }
    }
    found
}

/// Describes the optional programs and packages missing on the worker that lacks the fewest of them.
fn missing_optional(skill: &Skill, workers: &[Worker]) -> Vec<String> {
    let lacking = workers.iter();
    let lacking = lacking.map(|worker| skill.missing_optional(&installed(worker)));
    lacking.min_by_key(Vec::len).unwrap_or_default()
}

fn installed(worker: &Worker) -> BTreeSet<Program> {
    // No skill needs a program that this release does not know.
    let programs = worker.programs.iter();
    programs
        .filter_map(|name| Program::parse(name).ok())
        .collect()
}

/// Describes what is missing on the worker that lacks the least.
fn missing(skill: &Skill, workers: &[Worker]) -> Vec<String> {
    let lacking = workers.iter().map(|worker| {
        let mut missing = skill.missing(&installed(worker));
        if skill.network != Network::None && worker.isolation == Isolation::Landlocked {
            missing.push("a worker whose commands have a network".to_owned());
        }
        missing
    });
    let least = lacking.min_by_key(Vec::len);
    least.unwrap_or_else(|| vec!["a worker".to_owned()])
}
