//! The state that `skillet doctor` reports: of the running service, or else of this machine.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use shared::db::worker::Worker;
use shared::provider::Providers;
use shared::sandbox::{Isolation, MemoryLimit};
use shared::skill::{Catalog, Program, Skill};
use worker::sandbox::{MemoryFloor, Mode};

use crate::args::SandboxOptions;
use crate::connect::connect;
use crate::postgres;
use crate::service::ServiceFile;

/// The state of the service or of this machine.
pub(super) struct DoctorReport {
    /// The URL of the service that was asked; none if this machine was searched.
    pub(super) service: Option<String>,
    /// Where PostgreSQL is, or why it is not there.
    pub(super) database: Result<String, String>,
    /// How commands are confined, or why they cannot be.
    pub(super) sandbox: Result<SandboxStatus, String>,
    pub(super) programs: BTreeSet<String>,
    /// By program, as far as they tell.
    pub(super) program_versions: BTreeMap<String, String>,
    pub(super) skills: Vec<SkillStatus>,
    /// The providers whose models can be asked.
    pub(super) ready_providers: BTreeSet<String>,
}

/// The sandbox of a worker.
pub(super) struct SandboxStatus {
    pub(super) isolation: Isolation,
    pub(super) memory_limit: MemoryLimit,
}

/// The programs of a skill that are installed or missing.
#[derive(Serialize)]
pub(super) struct SkillStatus {
    pub(super) name: String,
    /// What is missing, in words.
    pub(super) missing: Vec<String>,
    /// What is missing and can be done without, in words.
    pub(super) missing_optional: Vec<String>,
    /// What is there, with versions.
    #[serde(skip)]
    pub(super) programs: Vec<String>,
}

/// A skill as the service shows it.
#[derive(Deserialize)]
struct ServiceSkill {
    name: String,
    missing: Vec<String>,
    missing_optional: Vec<String>,
    programs: BTreeMap<String, BTreeSet<String>>,
}

impl DoctorReport {
    /// Asks the running service.
    pub(super) async fn in_service(file: &ServiceFile) -> anyhow::Result<Self> {
        let client = connect(&file.url, &file.api_key)?;
        let workers: Vec<Worker> = client.list("/v1/workers", &[], None).await?;
        let skills: Vec<ServiceSkill> = client.list("/v1/skills", &[], None).await?;
        let skills = skills.into_iter().map(|skill| SkillStatus {
            name: skill.name,
            missing: skill.missing,
            missing_optional: skill.missing_optional,
            programs: skill.programs.into_iter().map(with_versions).collect(),
        });
        let ready = client.check_ready().await;
        let sandbox = workers.first().map(|worker| SandboxStatus {
            isolation: worker.isolation,
            memory_limit: worker.memory_limit,
        });
        Ok(Self {
            service: Some(file.url.clone()),
            database: match ready {
                Ok(()) => Ok("answers".to_owned()),
                Err(error) => Err(format!("{:#}", anyhow::Error::from(error))),
            },
            sandbox: sandbox.ok_or_else(|| "there is no worker".to_owned()),
            skills: skills.collect(),
            programs: workers
                .iter()
                .flat_map(|worker| worker.programs.clone())
                .collect(),
            program_versions: workers
                .iter()
                .flat_map(|worker| worker.program_versions.0.clone())
                .collect(),
            ready_providers: workers
                .iter()
                .flat_map(|worker| worker.providers.clone())
                .collect(),
        })
    }

    /// Searches this machine, and tries a sandbox. Without one, it looks for what there is outside.
    pub(super) async fn here(
        options: &SandboxOptions,
        catalog: &Catalog,
        providers: &Providers,
    ) -> anyhow::Result<Self> {
        let home = std::env::temp_dir();
        let read = options.sandbox_read.clone();
        let floor = options.memory_floor;
        let opened = worker::sandbox::open(options.sandbox, &home, read, floor).await;
        let none;
        let sandbox = match &opened {
            Ok(sandbox) => sandbox,
            Err(_) => {
                let floor = MemoryFloor::default();
                none = worker::sandbox::open(Mode::Off, &home, Vec::new(), floor).await?;
                &none
            }
        };
        let installed = worker::programs::installed(catalog.programs(), sandbox, &home).await;
        let versions = worker::programs::versions(&installed, sandbox, &home).await;
        let versions: BTreeMap<_, _> = versions
            .into_iter()
            .map(|(program, version)| (program.to_string(), version))
            .collect();
        let skills = catalog.iter().map(|skill| SkillStatus {
            name: skill.name.clone(),
            missing: skill.missing(&installed),
            missing_optional: skill.missing_optional(&installed),
            programs: programs_of(skill, &installed, &versions),
        });
        let database = postgres::installed().into_iter().next();
        Ok(Self {
            service: None,
            database: database
                .map(|place| format!("in {}", place.display()))
                .ok_or_else(|| "not installed; the first start downloads it, if it can".to_owned()),
            skills: skills.collect(),
            sandbox: opened
                .as_ref()
                .map(|sandbox| SandboxStatus {
                    isolation: sandbox.isolation(),
                    memory_limit: sandbox.memory_limit(),
                })
                .map_err(ToString::to_string),
            programs: installed.iter().map(Program::to_string).collect(),
            program_versions: versions,
            ready_providers: providers.ready().into_iter().collect(),
        })
    }
}

/// The programs of a skill that are there, each with its version.
fn programs_of(
    skill: &Skill,
    installed: &BTreeSet<Program>,
    versions: &BTreeMap<String, String>,
) -> Vec<String> {
    let needs = skill.programs.iter().chain(&skill.optional);
    let wanted = needs.flat_map(|need| &need.0);
    let there = wanted.filter(|program| installed.contains(program));
    let named = there.map(|program| {
        let name = program.to_string();
        let version = versions.get(&name).cloned();
        with_versions((name, version.into_iter().collect()))
    });
    named.collect()
}

fn with_versions((name, versions): (String, BTreeSet<String>)) -> String {
    let versions = Vec::from_iter(versions).join(" or ");
    format!("{name} {versions}").trim_end().to_owned()
}
