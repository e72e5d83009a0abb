//! `skillet tenants`.

use anyhow::Context;
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use skillet_client::Client;

use crate::complete;
use crate::exit::Exit;
use crate::noun::Verb;
use crate::output::{Cell, Column, OutputFormat, ResourceKind, text_of};

const KIND: ResourceKind = ResourceKind {
    id: "id",
    columns: &[
        Column::new("ID", |tenant| Cell::text(&tenant["id"])),
        Column::new("CREATED", |tenant| Cell::time(&tenant["created_at"])),
        Column::new("WEIGHT", |tenant| Cell::text(&tenant["weight"])),
        Column::new("MAX RUNNING", |tenant| Cell::text(&tenant["max_running"])),
        Column::new("NAME", |tenant| Cell::text(&tenant["name"])),
    ],
};

#[derive(Subcommand)]
pub(crate) enum Tenants {
    /// List tenants
    List,
    /// Show a tenant with its budget and limits
    Get(TenantArgument),
    /// Create a tenant
    Create(CreateTenantOptions),
    /// Change the weight, concurrency cap, budget or submission limits of a tenant
    Update(Box<UpdateTenantOptions>),
    /// Delete a tenant
    Delete(TenantArgument),
}

#[derive(Args)]
pub(crate) struct TenantArgument {
    /// The name or the id of the tenant
    #[arg(add = complete::tenants())]
    tenant: String,
}

#[derive(Args)]
pub(crate) struct CreateTenantOptions {
    /// The name of the tenant
    name: String,
}

/// Options of `skillet tenants update`. A limit is a number or `none`.
#[derive(Args)]
pub(crate) struct UpdateTenantOptions {
    #[command(flatten)]
    one: TenantArgument,
    /// The share of worker time, relative to other tenants
    #[arg(long)]
    weight: Option<u32>,
    /// The maximum number of jobs that run at once, or `none`
    #[arg(long, value_name = "NUMBER", value_parser = parse_limit)]
    max_running: Option<Value>,
    /// The maximum number of tokens per month, or `none`
    #[arg(long, value_name = "NUMBER", value_parser = parse_limit)]
    max_total_tokens: Option<Value>,
    /// The maximum cost per month in dollars, or `none`
    #[arg(long, value_name = "NUMBER", value_parser = parse_limit)]
    max_cost_usd: Option<Value>,
    /// The maximum number of unfinished jobs, or `none`
    #[arg(long, value_name = "NUMBER", value_parser = parse_limit)]
    max_queued: Option<Value>,
    /// The maximum number of submitted jobs per minute, or `none`
    #[arg(long, value_name = "NUMBER", value_parser = parse_limit)]
    jobs_per_minute: Option<Value>,
}

impl Verb for Tenants {
    fn default() -> Self {
        Self::List
    }

    async fn run(&self, client: &Client, output: OutputFormat) -> anyhow::Result<Exit> {
        match self {
            Self::List => output.list(&client.list("/v1/tenants", &[], None).await?, &KIND)?,
            Self::Get(TenantArgument { tenant }) => {
                let path = path(client, tenant).await?;
                output.fields(&KIND, &whole(client, &path).await?)?;
            }
            Self::Create(CreateTenantOptions { name }) => {
                let created: Value = client.post("/v1/tenants", &json!({"name": name})).await?;
                output.fields(&KIND, &created)?;
            }
            Self::Update(update) => {
                let path = path(client, &update.one.tenant).await?;
                update.send(client, &path).await?;
                output.fields(&KIND, &whole(client, &path).await?)?;
            }
            Self::Delete(TenantArgument { tenant }) => {
                let id = id(client, tenant).await?;
                client.delete(&format!("/v1/tenants/{id}")).await?;
                output.done(&KIND, "deleted", &id)?;
            }
        }
        Ok(Exit::Done)
    }
}

impl UpdateTenantOptions {
    /// Sends the given changes. The API replaces a budget or submission limits as a whole, so the other values are read
    /// first.
    async fn send(&self, client: &Client, path: &str) -> anyhow::Result<()> {
        let own = [
            ("weight", self.weight.map(Value::from)),
            ("max_running", self.max_running.clone()),
        ];
        let own = given(&own);
        if !own.is_empty() {
            client.patch::<Value>(path, &Value::from(own)).await?;
        }
        let budget = [
            ("max_total_tokens", self.max_total_tokens.clone()),
            ("max_cost_usd", self.max_cost_usd.clone()),
        ];
        replace(client, &format!("{path}/budget"), &budget).await?;
        let rate = self.jobs_per_minute.clone();
        let rate = rate.map(|rate| {
            if rate.is_null() {
                rate
            } else {
                json!({"per_minute": rate})
            }
        });
        let limits = [
            ("max_queued", self.max_queued.clone()),
            ("submit_rate", rate),
        ];
        replace(client, &format!("{path}/submission_limits"), &limits).await
    }
}

async fn replace(
    client: &Client,
    path: &str,
    changes: &[(&str, Option<Value>)],
) -> anyhow::Result<()> {
    let given = given(changes);
    if given.is_empty() {
        return Ok(());
    }
    let current: Map<String, Value> = client.get(path, &[]).await?;
    let known = current
        .into_iter()
        .filter(|(name, _)| changes.iter().any(|(it, _)| it == name));
    let whole: Map<_, _> = known.chain(given).collect();
    client.put(path, &Value::from(whole)).await?;
    Ok(())
}

fn given(changes: &[(&str, Option<Value>)]) -> Map<String, Value> {
    let given = changes
        .iter()
        .filter_map(|(name, value)| Some(((*name).to_owned(), value.clone()?)));
    given.collect()
}

fn parse_limit(text: &str) -> Result<Value, &'static str> {
    match text {
        "none" => Ok(Value::Null),
        _ => {
            let number: serde_json::Number =
                text.parse().map_err(|_| "must be a number, or `none`")?;
            Ok(Value::Number(number))
        }
    }
}

/// Fetches a tenant with its budget and limits.
async fn whole(client: &Client, path: &str) -> anyhow::Result<Value> {
    let mut tenant: Value = client.get(path, &[]).await?;
    tenant["budget"] = client.get(&format!("{path}/budget"), &[]).await?;
    tenant["submission_limits"] = client
        .get(&format!("{path}/submission_limits"), &[])
        .await?;
    Ok(tenant)
}

async fn path(client: &Client, name: &str) -> anyhow::Result<String> {
    Ok(format!("/v1/tenants/{}", id(client, name).await?))
}

/// Returns the id of the tenant with this name or id.
pub(super) async fn id(client: &Client, name: &str) -> anyhow::Result<String> {
    let tenant = find(client, name).await?;
    let tenant =
        tenant.with_context(|| format!("there is no tenant `{name}`: see `skillet tenants`"))?;
    Ok(text_of(&tenant["id"]))
}

/// Returns the tenant with this name or id, if there is one.
pub(super) async fn find(client: &Client, name: &str) -> anyhow::Result<Option<Value>> {
    let tenants: Vec<Value> = client.list("/v1/tenants", &[], None).await?;
    let mut found = tenants
        .into_iter()
        .filter(|it| it["name"] == name || it["id"] == name);
    Ok(found.next())
}
