use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use shared::provider::Providers;
use shared::sandbox::{Isolation, MemoryLimit};
use shared::skill::{Catalog, Program, Skill};
use worker::sandbox::{MemoryFloor, Mode, Sandbox};

use super::{print, print_json};
use crate::Exit;
use crate::args::Doctor;
use crate::config::Config;
use crate::postgres;

/// `skillet doctor`
pub(super) async fn doctor(options: &Doctor, config: &Config) -> anyhow::Result<Exit> {
    let catalog = Catalog::load(options.skills_dir.as_deref())?;
    let wanted = &options.sandbox;
    let sandbox = worker::sandbox::open(
        wanted.sandbox,
        &std::env::temp_dir(),
        wanted.sandbox_read.clone(),
        wanted.memory_floor,
    )
    .await;
    let programs = Programs::look(&catalog, sandbox.as_ref().ok()).await?;
    let providers = config.providers(None);
    let database = postgres::installed().into_iter().next();
    if options.json {
        let skills = catalog.iter().map(
            |skill| json!({"name": skill.name, "missing": skill.missing(&programs.installed)}),
        );
        print_json(&json!({
            "postgres": database,
            "sandbox": {
                "isolation": sandbox.as_ref().ok().map(Sandbox::isolation),
                "memory_limit": sandbox.as_ref().ok().map(Sandbox::memory_limit),
                "problem": sandbox.as_ref().err().map(ToString::to_string),
            },
            "programs": Vec::from_iter(programs.installed.iter().map(Program::to_string)),
            "program_versions": programs.versions,
            "skills": Vec::from_iter(skills),
            "providers": {"ready": providers.ready(), "known": providers.names()},
        }))?;
    } else {
        match &database {
            Some(place) => print(&format!("✓ PostgreSQL in {}", place.display())),
            None => print("✗ PostgreSQL: not installed; the first start downloads it, if it can"),
        }
        match &sandbox {
            Ok(sandbox) => {
                print(describe(sandbox.isolation()));
                print(describe_memory(sandbox.memory_limit()));
            }
            Err(unavailable) => print(&format!("✗ sandbox: {unavailable}\n")),
        }
        print_skills(&catalog, &programs);
        print_models(&providers);
    }
    // Without it no worker starts.
    Ok(match sandbox {
        Ok(_) => Exit::Done,
        Err(_) => Exit::Failed,
    })
}

/// What commands find. Where there is no sandbox, that is what there is on the machine.
struct Programs {
    installed: BTreeSet<Program>,
    /// By name, as far as they tell.
    versions: BTreeMap<String, String>,
}

impl Programs {
    async fn look(catalog: &Catalog, sandbox: Option<&Sandbox>) -> anyhow::Result<Self> {
        let home = std::env::temp_dir();
        let none;
        let sandbox = match sandbox {
            Some(sandbox) => sandbox,
            None => {
                none = worker::sandbox::open(Mode::Off, &home, Vec::new(), MemoryFloor::default())
                    .await?;
                &none
            }
        };
        let installed = worker::programs::installed(catalog.programs(), sandbox, &home).await;
        let versions = worker::programs::versions(&installed, sandbox, &home).await;
        let by_name = versions
            .into_iter()
            .map(|(program, version)| (program.to_string(), version));
        Ok(Self {
            versions: by_name.collect(),
            installed,
        })
    }

    /// Those of a skill that are there, each with its version.
    fn of(&self, skill: &Skill) -> String {
        let wanted = skill.programs.iter().flat_map(|need| &need.0);
        let there = wanted.filter(|program| self.installed.contains(program));
        let shown = there.map(|program| {
            let name = program.to_string();
            match self.versions.get(&name) {
                Some(version) => format!("{name} {version}"),
                None => name,
            }
        });
        Vec::from_iter(shown).join(", ")
    }
}

fn print_skills(catalog: &Catalog, programs: &Programs) {
    let mut is_any_missing = false;
    for skill in catalog.iter() {
        let missing = skill.missing(&programs.installed);
        if missing.is_empty() {
            let line = format!("✓ skill {:11} {}", skill.name, programs.of(skill));
            print(line.trim_end());
        } else {
            is_any_missing = true;
            let missing = missing.join(", ");
            print(&format!("✗ skill {:11} it lacks {missing}", skill.name));
        }
    }
    if is_any_missing {
        print(
            "  On Debian and Ubuntu, scripts/install-programs installs all that the built-in skills need.",
        );
    }
}

fn print_models(providers: &Providers) {
    let ready = providers.ready();
    for name in providers.names() {
        if ready.contains(&name) {
            print(&format!("✓ models of {name}"));
        } else {
            print(&format!("✗ models of {name}: its key is not set"));
        }
    }
}

fn describe_memory(limit: MemoryLimit) -> &'static str {
    match limit {
        MemoryLimit::Enforced => "✓ memory of commands: limited by cgroups",
        MemoryLimit::Watched => {
            "! memory of commands: watched and not limited, because no cgroups can be made here; deploy/README.md says how"
        }
    }
}

fn describe(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::Namespaced => "✓ sandbox: namespaces, tested just now",
        Isolation::Landlocked => {
            "✓ sandbox: Landlock, tested just now; without namespaces there is no network for skills"
        }
        Isolation::Off => "! sandbox: off, as was asked for: commands run as the worker's own user",
    }
}
