//! `skillet skills`.

mod check;
mod push;

use serde_json::Value;

pub(super) use check::check;
pub(super) use push::push;

use super::{print, print_json};
use crate::Exit;
use crate::args::{DeleteSkill, ListAll};
use crate::client::Client;
use crate::config::Config;
use crate::session::Session;

/// `skillet skills`
pub(super) async fn list(options: &ListAll, config: &Config) -> anyhow::Result<Exit> {
    let list = async |client: &Client| {
        let skills = client.list("/v1/skills").await?;
        if options.json {
            print_json(&skills)?;
            return Ok(Exit::Done);
        }
        for skill in &skills {
            print(&line(skill));
        }
        Ok(Exit::Done)
    };
    Session::with(&options.remote, config, list).await
}

fn line(skill: &Value) -> String {
    let text = |name: &str| skill[name].as_str().unwrap_or_default();
    let missing = skill["missing"].as_array().into_iter().flatten();
    let missing: Vec<_> = missing.filter_map(Value::as_str).collect();
    let (mark, state) = if missing.is_empty() {
        ("✓", String::new())
    } else {
        ("✗", format!(" (missing: {})", missing.join(", ")))
    };
    let own = match skill["version"].as_i64() {
        Some(version) => format!(" (your own, version {version})"),
        None => String::new(),
    };
    // When to use it is said to models.
    let what = text("description").split_once(". ");
    let what = what.map_or(text("description"), |(first, _)| first);
    format!("{mark} {:12} {what}{own}{state}", text("name"))
}

/// `skillet skills delete`
pub(super) async fn delete(options: &DeleteSkill, config: &Config) -> anyhow::Result<Exit> {
    let delete = async |client: &Client| {
        client
            .delete(&format!("/v1/skills/{}", options.name))
            .await?;
        print("deleted");
        Ok(Exit::Done)
    };
    Session::with(&options.remote, config, delete).await
}
