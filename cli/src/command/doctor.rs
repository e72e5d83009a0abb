//! `skillet doctor`.

mod database;
mod fonts;
mod report;

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use shared::provider::Providers;
use shared::sandbox::{Isolation, MemoryLimit};
use shared::skill::Catalog;

use crate::args::{DataDir, PoolerOptions, SandboxOptions};
use crate::config::Config;
use crate::directory;
use crate::exit::Exit;
use crate::service::ServiceFile;
use crate::terminal::{print, print_json};
use report::{DoctorReport, SkillStatus};

#[derive(Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    home: DataDir,
    #[command(flatten)]
    sandbox: SandboxOptions,
    /// A folder with additional skills for all tenants
    #[arg(long, env = "SKILLET_SKILLS_DIR", value_name = "DIR")]
    skills_dir: Option<PathBuf>,
    /// Check only the database at this URL
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    #[command(flatten)]
    pooler: PoolerOptions,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// `skillet doctor`
///
/// The command fails if the sandbox does not work or, for a running service, if the database or all workers are
/// missing. Programs and providers may be missing, because only some jobs need them.
pub(super) async fn doctor(options: &Doctor, config: &Config) -> anyhow::Result<Exit> {
    if let Some(url) = &options.database {
        return database::check(&options.pooler.settings(url), options.json).await;
    }
    let home = directory::data_path(options.home.data_dir.as_deref())?;
    let providers = config.providers(None);
    let report = match ServiceFile::read(&home) {
        Some(file) => DoctorReport::in_service(&file).await?,
        None => {
            let catalog = Catalog::load(options.skills_dir.as_deref())?;
            DoctorReport::here(&options.sandbox, &catalog, &providers).await?
        }
    };
    if options.json {
        print_json(&json!({
            "service": report.service,
            "postgres": report.database.as_ref().ok(),
            "sandbox": {
                "isolation": report.sandbox.as_ref().ok().map(|sandbox| sandbox.isolation),
                "memory_limit": report.sandbox.as_ref().ok().map(|sandbox| sandbox.memory_limit),
                "problem": report.sandbox.as_ref().err(),
            },
            "programs": report.programs,
            "program_versions": report.program_versions,
            "skills": report.skills,
            "scripts_without_font": fonts::missing(),
            "providers": {"ready": report.ready_providers, "known": providers.names()},
        }))?;
    } else {
        show(&report, &providers)?;
    }
    let has_database = report.service.is_none() || report.database.is_ok();
    Ok(if has_database && report.sandbox.is_ok() {
        Exit::Done
    } else {
        Exit::Failed
    })
}

fn show(report: &DoctorReport, providers: &Providers) -> anyhow::Result<()> {
    print(&match &report.service {
        Some(url) => format!("The service at {url} has:"),
        None => "No service runs here. This machine and this environment have:".to_owned(),
    })?;
    print(&match (&report.database, &report.service) {
        (Ok(place), _) => format!("✓ PostgreSQL {place}"),
        (Err(problem), Some(_)) => format!("✗ PostgreSQL: {problem}"),
        (Err(problem), None) => format!("– PostgreSQL: {problem}"),
    })?;
    match &report.sandbox {
        Ok(sandbox) => {
            print(describe(sandbox.isolation))?;
            print(describe_memory(sandbox.memory_limit))?;
        }
        Err(problem) => print(&format!("✗ sandbox: {problem}\n"))?,
    }
    print(&fonts::describe(fonts::missing().as_deref()))?;
    show_skills(&report.skills)?;
    show_models(report, providers)
}

fn show_skills(skills: &[SkillStatus]) -> anyhow::Result<()> {
    for SkillStatus {
        name,
        missing,
        missing_optional,
        programs,
    } in skills
    {
        if missing.is_empty() {
            let line = format!("✓ skill {name:11} {}", programs.join(", "));
            print(line.trim_end())?;
            if !missing_optional.is_empty() {
                let missing = missing_optional.join(", ");
                print(&format!("  ! skill {name:9} works better with: {missing}"))?;
            }
        } else {
            let missing = missing.join(", ");
            print(&format!("– skill {name:11} missing: {missing}"))?;
        }
    }
    let lacks =
        |skill: &SkillStatus| !skill.missing.is_empty() || !skill.missing_optional.is_empty();
    if skills.iter().any(lacks) {
        print(
            "  On Debian and Ubuntu, scripts/install-programs installs all programs of the built-in skills.",
        )?;
    }
    Ok(())
}

fn show_models(report: &DoctorReport, providers: &Providers) -> anyhow::Result<()> {
    for name in providers.names() {
        let variable = providers.key_variable(&name).unwrap_or_default();
        if report.ready_providers.contains(&name) {
            print(&format!("✓ models of {name}"))?;
        } else if report.service.is_some() {
            print(&format!(
                "– models of {name}: start the service with {variable}"
            ))?;
        } else {
            print(&format!("– models of {name}: {variable} is not set"))?;
        }
    }
    Ok(())
}

fn describe_memory(limit: MemoryLimit) -> &'static str {
    match limit {
        MemoryLimit::Enforced => "✓ memory of commands: limited by cgroups",
        MemoryLimit::Watched => {
            "! memory of commands: watched and not limited, because cgroups cannot be created here (see deploy/README.md)"
        }
    }
}

fn describe(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::Namespaced => "✓ sandbox: namespaces, tested",
        Isolation::Landlocked => {
            "✓ sandbox: Landlock, tested; without namespaces there is no network for skills"
        }
        Isolation::Off => "! sandbox: off, as configured: commands run as the user of the worker",
    }
}
