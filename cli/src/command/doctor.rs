use serde_json::{Value, json};
use shared::skill::Catalog;

use super::{print, print_json};
use crate::Exit;
use crate::args::Doctor;
use crate::config::Config;
use crate::postgres;

/// `skillet doctor`
pub(super) fn doctor(options: &Doctor, config: &Config) -> anyhow::Result<Exit> {
    let catalog = Catalog::load(options.skills_dir.as_deref())?;
    let programs = worker::programs::installed(catalog.programs());
    let skills: Vec<Value> = catalog
        .iter()
        .map(|skill| json!({"name": skill.name, "missing": skill.missing(&programs)}))
        .collect();
    let providers = config.providers(None);
    let ready = providers.ready();
    let database = postgres::installed().into_iter().next();
    let found = json!({
        "postgres": database,
        "programs": programs,
        "skills": skills,
        "providers": {"ready": ready, "known": providers.names()},
    });
    if options.json {
        print_json(&found)?;
        return Ok(Exit::Done);
    }
    match &database {
        Some(place) => print(&format!("✓ PostgreSQL in {}", place.display())),
        None => print("✗ PostgreSQL: not installed; the first start downloads it, if it can"),
    }
    for skill in catalog.iter() {
        match skill.missing(&programs) {
            missing if missing.is_empty() => print(&format!("✓ skill {}", skill.name)),
            missing => print(&format!(
                "✗ skill {}: install {}",
                skill.name,
                missing.join(", ")
            )),
        }
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
    Ok(Exit::Done)
}
