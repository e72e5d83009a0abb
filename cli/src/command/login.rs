//! `skillet login`.

use anyhow::{Context, ensure};
use clap::Args;
use serde_json::Value;

use crate::connect::connect;
use crate::exit::Exit;
use crate::hidden_input::read_hidden;
use crate::output::text_of;
use crate::profile::{LOCAL, Profile, Profiles};
use crate::terminal::print;

#[derive(Args)]
pub(crate) struct Login {
    /// The URL of the service, such as https://skillet.example.com
    url: String,
    /// The name of the profile
    #[arg(long, default_value = "default", value_name = "NAME")]
    profile: String,
}

/// `skillet login`: asks for a key, checks it, and stores it in a file that only this user can read.
pub(super) async fn login(options: &Login) -> anyhow::Result<Exit> {
    let name = &options.profile;
    ensure!(
        name != LOCAL,
        "the profile `{LOCAL}` is the service of this machine; choose another name"
    );
    ensure!(!name.trim().is_empty(), "the name of the profile is empty");
    // Reports an invalid URL before the user types the key.
    connect(&options.url, "")?;
    let Some(api_key) = read_hidden(&format!("API key for {}", options.url))? else {
        return Ok(Exit::Interrupted);
    };
    let api_key = api_key.trim().to_owned();
    ensure!(!api_key.is_empty(), "the key is empty");
    let client = connect(&options.url, &api_key)?;
    let me: Value = tokio::select! {
        me = client.get("/v1/me", &[]) => me.context("nothing was stored")?,
        _ = tokio::signal::ctrl_c() => return Ok(Exit::Interrupted),
    };
    let mut profiles = Profiles::read()?;
    let url = options.url.trim_end_matches('/').to_owned();
    profiles
        .profiles
        .insert(name.clone(), Profile { url, api_key });
    profiles.current = Some(name.clone());
    profiles.write()?;
    let (tenant, scopes) = (
        text_of(&me["tenant"]["name"]),
        text_of(&me["key"]["scopes"]),
    );
    print(&format!(
        "Logged in to {} as tenant {tenant} (scopes: {scopes})",
        options.url
    ))?;
    print(&format!(
        "The profile {name} is in {}",
        Profiles::file()?.display()
    ))?;
    Ok(Exit::Done)
}
