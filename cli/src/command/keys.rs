//! `skillet keys`.

use anyhow::Context;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use shared::db::{self, DatabaseSettings};
use shared::id::KeyId;
use shared::key::{Scope, SecretKey};
use skillet_client::Client;

use super::tenants;
use crate::args::{ClientOptions, parse_id};
use crate::complete;
use crate::exit::Exit;
use crate::noun::Verb;
use crate::output::{Cell, Column, OutputFormat, ResourceKind, text_of};
use crate::terminal::print;

const KIND: ResourceKind = ResourceKind {
    id: "id",
    columns: &[
        Column::new("ID", |key| Cell::text(&key["id"])),
        Column::new("CREATED", |key| Cell::time(&key["created_at"])),
        Column::new("KEY", |key| {
            Cell::Text(format!("…{}", text_of(&key["hint"])))
        }),
        Column::new("SCOPES", |key| Cell::text(&key["scopes"])),
        Column::new("NAME", |key| Cell::text(&key["name"])),
    ],
};

#[derive(Subcommand)]
pub(crate) enum Keys {
    /// List keys, without their values
    List(ListKeysOptions),
    /// Create a key and print it. The key is not shown again
    Create(CreateKeyOptions),
    /// Revoke keys
    #[command(alias = "revoke")]
    Delete(KeyArguments),
}

#[derive(Args, Default)]
pub(crate) struct ListKeysOptions {
    /// Only keys of this tenant, by name or id
    #[arg(long, add = complete::tenants())]
    tenant: Option<String>,
}

#[derive(Args)]
pub(crate) struct CreateKeyOptions {
    /// The name of the key
    #[arg(long, default_value = "cli")]
    name: String,
    /// The tenant. It is created if it does not exist
    #[arg(long, default_value = "default", add = complete::tenants())]
    tenant: String,
    /// The scopes of the key
    #[arg(long, value_delimiter = ',', default_value = "jobs", value_parser = ["jobs", "admin", "metrics"])]
    scopes: Vec<String>,
}

#[derive(Args)]
pub(crate) struct KeyArguments {
    /// The ids of the keys
    #[arg(required = true, value_name = "KEY", value_parser = parse_id::<KeyId>, add = complete::keys())]
    keys: Vec<KeyId>,
}

impl Verb for Keys {
    fn default() -> Self {
        Self::List(ListKeysOptions::default())
    }

    /// The first key of a service is created directly in the database, because the API needs a key.
    fn needs_service(&self, options: &ClientOptions) -> bool {
        !(matches!(self, Self::Create(_)) && options.remote.own.database_url.is_some())
    }

    async fn run_alone(&self, options: &ClientOptions) -> anyhow::Result<Exit> {
        if let (Self::Create(create), Some(url)) = (self, &options.remote.own.database_url) {
            show_created(
                options.output,
                &create
                    .in_database(&options.remote.own.pooler.settings(url))
                    .await?,
            )?;
        }
        Ok(Exit::Done)
    }

    async fn run(&self, client: &Client, output: OutputFormat) -> anyhow::Result<Exit> {
        match self {
            Self::List(ListKeysOptions { tenant }) => {
                let mut query = Vec::new();
                if let Some(tenant) = tenant {
                    query.push(("tenant_id", tenants::id(client, tenant).await?));
                }
                output.list(&client.list("/v1/keys", &query, None).await?, &KIND)?;
            }
            Self::Create(create) => show_created(output, &create.over_http(client).await?)?,
            Self::Delete(KeyArguments { keys }) => {
                for key in keys {
                    client.delete(&format!("/v1/keys/{key}")).await?;
                    output.done(&KIND, "revoked", &key.to_string())?;
                }
            }
        }
        Ok(Exit::Done)
    }
}

/// Prints the key, or with `-q` its id, as other commands do.
fn show_created(output: OutputFormat, created: &Value) -> anyhow::Result<()> {
    output.one(&text_of(&created["id"]), created, || {
        print(&text_of(&created["token"]))
    })
}

impl CreateKeyOptions {
    async fn in_database(&self, database: &DatabaseSettings) -> anyhow::Result<Value> {
        database.check().await?;
        let pool = database
            .connect("skillet keys", 1)
            .await
            .context("cannot reach the database")?;
        let tenant = db::tenant::get_or_insert(&pool, &self.tenant).await?;
        let scopes: Vec<Scope> = serde_json::from_value(json!(self.scopes))?;
        let secret = SecretKey::generate();
        let key = db::key::insert(&pool, tenant.id, &self.name, &scopes, &secret).await?;
        let mut created = serde_json::to_value(key)?;
        created["token"] = secret.reveal().into();
        Ok(created)
    }

    async fn over_http(&self, client: &Client) -> anyhow::Result<Value> {
        let tenant = match tenants::find(client, &self.tenant).await? {
            Some(tenant) => tenant,
            None => {
                client
                    .post("/v1/tenants", &json!({"name": self.tenant}))
                    .await?
            }
        };
        let body = json!({"tenant_id": tenant["id"], "name": self.name, "scopes": self.scopes});
        Ok(client.post("/v1/keys", &body).await?)
    }
}
