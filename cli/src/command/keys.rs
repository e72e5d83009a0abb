//! `skillet keys`.

use anyhow::Context;
use serde_json::{Value, json};
use shared::db;
use shared::key::{Scope, SecretKey};

use super::{print, print_json};
use crate::Exit;
use crate::args::{CreateKey, ListAll, RevokeKey};
use crate::client::Client;
use crate::config::Config;
use crate::session::Session;

/// `skillet keys create`
pub(super) async fn create(options: &CreateKey, config: &Config) -> anyhow::Result<Exit> {
    if let Some(url) = &options.remote.own.database_url {
        return show_created(&create_in_database(url, options).await?, options.json);
    }
    let create = async |client: &Client| {
        show_created(&create_over_http(client, options).await?, options.json)
    };
    Session::with(&options.remote, config, create).await
}

fn show_created(created: &Value, json: bool) -> anyhow::Result<Exit> {
    if json {
        print_json(created)?;
    } else {
        print(created["token"].as_str().unwrap_or_default());
    }
    Ok(Exit::Done)
}

/// For the first key of a service: there is none yet to ask with.
async fn create_in_database(url: &str, options: &CreateKey) -> anyhow::Result<Value> {
    db::check(url).await?;
    let pool = db::connect(url, "skillet keys", 1)
        .await
        .context("cannot reach the database")?;
    let tenant = db::tenant::get_or_insert(&pool, &options.tenant).await?;
    let scopes: Vec<Scope> = serde_json::from_value(json!(options.scopes))?;
    let secret = SecretKey::generate();
    let key = db::key::insert(&pool, tenant.id, &options.name, &scopes, &secret).await?;
    let mut created = serde_json::to_value(key)?;
    created["token"] = secret.reveal().into();
    Ok(created)
}

async fn create_over_http(client: &Client, options: &CreateKey) -> anyhow::Result<Value> {
    let tenant = match find_tenant(client, &options.tenant).await? {
        Some(tenant) => tenant,
        None => {
            client
                .post("/v1/tenants", &json!({"name": options.tenant}))
                .await?
        }
    };
    let body = json!({"tenant_id": tenant["id"], "name": options.name, "scopes": options.scopes});
    client.post("/v1/keys", &body).await
}

async fn find_tenant(client: &Client, name: &str) -> anyhow::Result<Option<Value>> {
    let mut query = vec![("limit", "100".to_owned())];
    loop {
        let page: Value = client.get("/v1/tenants", &query).await?;
        let tenants = page["data"].as_array().cloned().unwrap_or_default();
        if let Some(tenant) = tenants.into_iter().find(|tenant| tenant["name"] == name) {
            return Ok(Some(tenant));
        }
        let Some(cursor) = page["next_cursor"].as_str() else {
            return Ok(None);
        };
        query = vec![("limit", "100".to_owned()), ("cursor", cursor.to_owned())];
    }
}

/// `skillet keys list`
pub(super) async fn list(options: &ListAll, config: &Config) -> anyhow::Result<Exit> {
    let list = async |client: &Client| {
        let limit = [("limit", "100".to_owned())];
        let page: Value = client.get("/v1/keys", &limit).await?;
        if options.json {
            print_json(&page["data"])?;
            return Ok(Exit::Done);
        }
        for key in page["data"].as_array().into_iter().flatten() {
            print(&line(key));
        }
        Ok(Exit::Done)
    };
    Session::with(&options.remote, config, list).await
}

fn line(key: &Value) -> String {
    let text = |name: &str| key[name].as_str().unwrap_or_default();
    let scopes = key["scopes"].as_array().into_iter().flatten();
    let scopes: Vec<_> = scopes.filter_map(Value::as_str).collect();
    format!(
        "{}  …{}  {}  {}",
        text("id"),
        text("hint"),
        scopes.join(","),
        text("name")
    )
}

/// `skillet keys revoke`
pub(super) async fn revoke(options: &RevokeKey, config: &Config) -> anyhow::Result<Exit> {
    let revoke = async |client: &Client| {
        client.delete(&format!("/v1/keys/{}", options.key)).await?;
        print("revoked");
        Ok(Exit::Done)
    };
    Session::with(&options.remote, config, revoke).await
}
