use std::collections::BTreeSet;

use serde_json::{Value, json};
use shared::sandbox::Isolation;
use shared::skill::{Catalog, Program};
use worker::sandbox::{Mode, Sandbox};

use super::{print, print_json};
use crate::Exit;
use crate::args::Doctor;
use crate::config::Config;
use crate::postgres;

/// `skillet doctor`
pub(super) async fn doctor(options: &Doctor, config: &Config) -> anyhow::Result<Exit> {
    let catalog = Catalog::load(options.skills_dir.as_deref())?;
    let (mode, read) = (
        options.sandbox.sandbox,
        options.sandbox.sandbox_read.clone(),
    );
    let sandbox = worker::sandbox::open(mode, &std::env::temp_dir(), read).await;
    let programs = programs(&catalog, sandbox.as_ref().ok()).await?;
    let skills: Vec<Value> = catalog
        .iter()
        .map(|skill| json!({"name": skill.name, "missing": skill.missing(&programs)}))
        .collect();
    let providers = config.providers(None);
    let ready = providers.ready();
    let database = postgres::installed().into_iter().next();
    let found = json!({
        "postgres": database,
        "sandbox": {
            "isolation": sandbox.as_ref().ok().map(Sandbox::isolation),
            "problem": sandbox.as_ref().err().map(ToString::to_string),
        },
        "programs": programs.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "skills": skills,
        "providers": {"ready": ready, "known": providers.names()},
    });
    // Without it no worker starts.
    let exit = if sandbox.is_ok() {
        Exit::Done
    } else {
        Exit::Failed
    };
    if options.json {
        print_json(&found)?;
        return Ok(exit);
    }
    match &database {
        Some(place) => print(&format!("✓ PostgreSQL in {}", place.display())),
        None => print("✗ PostgreSQL: not installed; the first start downloads it, if it can"),
    }
    match &sandbox {
        Ok(sandbox) => print(&describe(sandbox.isolation())),
        Err(unavailable) => print(&format!("✗ sandbox: {unavailable}\n")),
    }
    for skill in catalog.iter() {
        match skill.missing(&programs) {
            missing if missing.is_empty() => print(&format!("✓ skill {}", skill.name)),
            missing => print(&format!(
                "✗ skill {}: it lacks {}",
                skill.name,
                missing.join(", ")
            )),
        }
    }
    if catalog
        .iter()
        .any(|skill| !skill.missing(&programs).is_empty())
    {
        print(
            "  On Debian and Ubuntu, scripts/install-programs installs all that the built-in skills need.",
        );
    }
    for name in providers.names() {
        let mark = if ready.contains(&name) { "✓" } else { "✗" };
        let note = if ready.contains(&name) {
            ""
        } else {
            ": its key is not set"
        };
        print(&format!("{mark} models of {name}{note}"));
    }
    Ok(exit)
}

/// What commands find. Where there is no sandbox, that is what there is on the machine.
async fn programs(
    catalog: &Catalog,
    sandbox: Option<&Sandbox>,
) -> anyhow::Result<BTreeSet<Program>> {
    let home = std::env::temp_dir();
    let none;
    let sandbox = match sandbox {
        Some(sandbox) => sandbox,
        None => {
            none = worker::sandbox::open(Mode::Off, &home, Vec::new()).await?;
            &none
        }
    };
    Ok(worker::programs::installed(catalog.programs(), sandbox, &home).await)
}

fn describe(isolation: Isolation) -> String {
    match isolation {
        Isolation::Namespaced => "✓ sandbox: namespaces, tested just now".to_owned(),
        Isolation::Landlocked => {
            "✓ sandbox: Landlock, tested just now; without namespaces there is no network for skills".to_owned()
        }
        Isolation::Off => "! sandbox: off, as was asked for: commands run as the worker's own user".to_owned(),
    }
}
