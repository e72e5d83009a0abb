use serde_json::Value;

use super::{print, print_json};
use crate::Exit;
use crate::args::Skills;
use crate::config::Config;
use crate::session::Session;

/// `skillet skills`
pub(super) async fn skills(options: &Skills, config: &Config) -> anyhow::Result<Exit> {
    let session = Session::open(&options.remote, config).await?;
    let page: Value = session.client.get("/v1/skills", &[]).await?;
    session.close().await?;
    let skills = page["data"].as_array().cloned().unwrap_or_default();
    if options.json {
        print_json(&skills)?;
        return Ok(Exit::Done);
    }
    for skill in &skills {
        let text = |name: &str| skill[name].as_str().unwrap_or_default();
        let missing: Vec<_> = skill["missing"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let state = if missing.is_empty() {
            String::new()
        } else {
            format!(" (missing: {})", missing.join(", "))
        };
        let mark = if missing.is_empty() { "✓" } else { "✗" };
        print(&format!(
            "{mark} {:12} {}{state}",
            text("name"),
            text("description")
        ));
    }
    Ok(Exit::Done)
}
