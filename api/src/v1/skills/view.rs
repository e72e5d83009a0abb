//! A skill as clients see it.

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

/// A skill, and whether it can run here.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Skill)]
pub(crate) struct SkillView {
    /// Its name.
    #[schema(example = "image")]
    name: String,
    /// Its name for people.
    title: String,
    /// What it does and when to use it.
    description: String,
    /// The kinds of files that it takes; null for any.
    inputs: Option<Vec<OutputKind>>,
    /// The kinds of files that it makes.
    outputs: Vec<OutputKind>,
    /// JSON Schema of its parameters.
    #[schema(value_type = Map<String, Value>)]
    parameters: Value,
    /// What of the network its commands may reach: `none`, `public`, or hosts, some of them from a
    /// parameter or a secret of the job.
    #[schema(example = "github.com parameter:repository")]
    network: String,
    /// The secrets that its jobs are handed, if the tenant has set them.
    secrets: Vec<SecretNeed>,
    /// The model of its jobs that name none, or several in the order in which they are asked; null for the service's
    /// default.
    #[schema(required)]
    model: Option<ModelList>,
    /// How long its jobs may take unless they say otherwise, in seconds.
    timeout_seconds: u32,
    /// How many replies its jobs may have unless they say otherwise.
    max_iterations: u32,
    /// How many tokens a reply may have unless the job says otherwise.
    max_tokens: u32,
    /// How long a command may run, in seconds.
    command_seconds: u32,
    /// Where it comes from.
    origin: SkillOrigin,
    /// Which version it is; null unless the tenant uploaded it.
    #[schema(required)]
    version: Option<i32>,
    /// When this version was uploaded.
    #[schema(required)]
    created_at: Option<DateTime<Utc>>,
    /// SHA-256 of all its files in their stored form.
    digest: String,
    /// Whether a worker that is there can run it.
    available: bool,
    /// Whether an administrator has paused it: its jobs wait.
    paused: bool,
    /// What the worker that lacks least would need, with the package that brings it, in words.
    missing: Vec<String>,
    /// What it works better with and that worker lacks: optional programs, and packages that its `requirements.txt` or
    /// `package.json` names. Its jobs run without.
    missing_optional: Vec<String>,
    /// What its front matter says without effect, such as tools that do not exist.
    warnings: Vec<String>,
    /// Which of the programs that it may need are there, and the versions that workers have of them.
    #[schema(example = json!({"ffmpeg": ["6.1.1", "7.0.2"]}))]
    programs: BTreeMap<String, BTreeSet<String>>,
}

impl SkillView {
    /// A skill of the service, which workers say themselves that they can run.
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

    /// A skill of the tenant, which any worker can run that has what it needs.
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

    /// The same, with what came of installing its packages on machines with workers.
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

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The same, with whether its name is one of these.
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

/// Programs of the skill that workers have, with the versions that they know.
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

/// What the worker that lacks least lacks of what can be done without, in words.
fn missing_optional(skill: &Skill, workers: &[Worker]) -> Vec<String> {
    let lacking = workers.iter();
    let lacking = lacking.map(|worker| skill.missing_optional(&installed(worker)));
    lacking.min_by_key(Vec::len).unwrap_or_default()
}

fn installed(worker: &Worker) -> BTreeSet<Program> {
    // A program that this release does not know is needed by none of its skills.
    let programs = worker.programs.iter();
    programs
        .filter_map(|name| Program::parse(name).ok())
        .collect()
}

/// What the worker that lacks least would need, in words.
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
