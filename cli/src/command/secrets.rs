//! `skillet secrets`.

mod rotate;

use std::io::{IsTerminal, Read};

use anyhow::Context;
use serde_json::json;

use super::{print, print_json};
use crate::Exit;
use crate::args::{ListAll, OneSecret};
use crate::client::Client;
use crate::config::Config;
use crate::session::Session;

pub(super) use rotate::rotate;

/// The most that is read of a value; the service says what it takes.
const MAX_BYTES: u64 = 1024 * 1024;

/// `skillet secrets set`
pub(super) async fn set(options: &OneSecret, config: &Config) -> anyhow::Result<Exit> {
    // Before there is a service to wait for it.
    let value = read_value()?;
    let set = async |client: &Client| {
        let path = format!("/v1/secrets/{}", options.name);
        client.put(&path, &json!({ "value": value })).await?;
        print("set");
        Ok(Exit::Done)
    };
    Session::with(&options.remote, config, set).await
}

/// The value, from where neither the list of processes nor a shell's history shows it.
fn read_value() -> anyhow::Result<String> {
    let input = std::io::stdin();
    if input.is_terminal() {
        eprintln!("Type the value (it is visible) and press Ctrl-D, or pipe it in.");
    }
    let mut value = String::new();
    input
        .take(MAX_BYTES)
        .read_to_string(&mut value)
        .context("cannot read the value from standard input")?;
    let end = value.strip_suffix('\n');
    let end = end.map(|value| value.strip_suffix('\r').unwrap_or(value));
    Ok(end.unwrap_or(&value).to_owned())
}

/// `skillet secrets list`
pub(super) async fn list(options: &ListAll, config: &Config) -> anyhow::Result<Exit> {
    let list = async |client: &Client| {
        let secrets = client.list("/v1/secrets").await?;
        if options.json {
            print_json(&secrets)?;
            return Ok(Exit::Done);
        }
        for secret in &secrets {
            let text = |name: &str| secret[name].as_str().unwrap_or_default();
            print(&format!("{}  {}", text("updated_at"), text("name")));
        }
        Ok(Exit::Done)
    };
    Session::with(&options.remote, config, list).await
}

/// `skillet secrets delete`
pub(super) async fn delete(options: &OneSecret, config: &Config) -> anyhow::Result<Exit> {
    let delete = async |client: &Client| {
        client
            .delete(&format!("/v1/secrets/{}", options.name))
            .await?;
        print("deleted");
        Ok(Exit::Done)
    };
    Session::with(&options.remote, config, delete).await
}
