//! `skillet secrets`.

mod rotate;

use clap::{Args, Subcommand};
use serde_json::json;
use shared::secret::SecretName;
use skillet_client::Client;

use crate::args::ClientOptions;
use crate::complete;
use crate::exit::Exit;
use crate::hidden_input::read_hidden;
use crate::noun::Verb;
use crate::output::{Cell, Column, OutputFormat, ResourceKind};

const KIND: ResourceKind = ResourceKind {
    id: "name",
    columns: &[
        Column::new("NAME", |secret| Cell::text(&secret["name"])),
        Column::new("CREATED", |secret| Cell::time(&secret["created_at"])),
        Column::new("UPDATED", |secret| Cell::time(&secret["updated_at"])),
    ],
};

#[derive(Subcommand)]
pub(crate) enum Secrets {
    /// List secrets, without their values
    List,
    /// Set a secret. Asks for the value without showing it, or reads it from standard input
    Set(SecretArgument),
    /// Delete a secret
    Delete(SecretArgument),
    /// Re-encrypt all secrets with the current master key
    Rotate,
}

#[derive(Args)]
pub(crate) struct SecretArgument {
    /// The name of the secret and of its environment variable in commands
    #[arg(value_parser = SecretName::parse, add = complete::secrets())]
    name: SecretName,
}

impl Verb for Secrets {
    fn default() -> Self {
        Self::List
    }

    fn needs_service(&self, _: &ClientOptions) -> bool {
        !matches!(self, Self::Rotate)
    }

    async fn run_alone(&self, options: &ClientOptions) -> anyhow::Result<Exit> {
        rotate::rotate(&options.remote).await
    }

    async fn run(&self, client: &Client, output: OutputFormat) -> anyhow::Result<Exit> {
        match self {
            Self::List => output.list(&client.list("/v1/secrets", &[], None).await?, &KIND)?,
            Self::Set(SecretArgument { name }) => {
                let Some(value) = read_hidden(&format!("Value of {name}"))? else {
                    return Ok(Exit::Interrupted);
                };
                let path = format!("/v1/secrets/{name}");
                client.put(&path, &json!({ "value": value })).await?;
                output.done(&KIND, "set", &name.to_string())?;
            }
            Self::Delete(SecretArgument { name }) => {
                client.delete(&format!("/v1/secrets/{name}")).await?;
                output.done(&KIND, "deleted", &name.to_string())?;
            }
            Self::Rotate => {}
        }
        Ok(Exit::Done)
    }
}
