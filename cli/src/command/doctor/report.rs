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
    /// The URL of the running service, or `None` if the report is about this machine.
    pub(super) service: Option<String>,
    /// The location or state of PostgreSQL, or the problem.
    pub(super) database: Result<String, String>,
    /// The sandbox of commands, or the problem.
    pub(super) sandbox: Result<SandboxStatus, String>,
    pub(super) programs: BTreeSet<String>,
    /// The known versions of programs, by program.
    pub(super) program_versions: BTreeMap<String, String>,
    pub(super) skills: Vec<SkillStatus>,
    /// The providers whose models can be called.
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
    /// Descriptions of the missing programs.
    pub(super) missing: Vec<String>,
    /// Descriptions of the missing optional programs.
    pub(super) missing_optional: Vec<String>,
    /// The installed programs with their versions.
    #[serde(skip)]
    pub(super) programs: Vec<String>,
}

/// A skill in the API.
#[derive(Deserialize)]
struct ServiceSkill {
    name: String,
    missing: Vec<String>,
    missing_optional: Vec<String>,
    programs: BTreeMap<String, BTreeSet<String>>,
}

impl DoctorReport {
    /// Creates the report from the running service.
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

    /// Creates the report from this machine, and tests a sandbox. If the sandbox does not work, programs are searched
    /// without one.
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
                .ok_or_else(|| "not installed; the first start tries to download it".to_owned()),
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

/// The installed programs of a skill, each with its version.
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
