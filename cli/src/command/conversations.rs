//! `skillet conversations`.

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use shared::id::ConversationId;
use skillet_client::Client;

use crate::args::{parse_id, parse_pair};
use crate::complete;
use crate::exit::Exit;
use crate::noun::Verb;
use crate::output::{Cell, Column, OutputFormat, ResourceKind, print_fields, text_of};
use crate::terminal::print;

const KIND: ResourceKind = ResourceKind {
    id: "id",
    columns: &[
        Column::new("ID", |it| Cell::text(&it["id"])),
        Column::new("CREATED", |it| Cell::time(&it["created_at"])),
        Column::new("AGENT", |it| Cell::text(&it["agent"])),
        Column::new("EXTERNAL ID", |it| Cell::text(&it["external_id"])),
        Column::new("TITLE", |it| Cell::text(&it["title"])),
    ],
};

#[derive(Subcommand)]
pub(crate) enum Conversations {
    /// List conversations, newest first
    List(ListConversationsOptions),
    /// Show a conversation and its messages
    Get(ConversationArgument),
    /// Create a conversation, or return the one with this external id
    Create(CreateConversationOptions),
    /// Delete conversations
    Delete(ConversationArguments),
}

#[derive(Args, Default)]
pub(crate) struct ListConversationsOptions {
    /// Only the conversation with this external id
    #[arg(long, value_name = "TEXT")]
    external_id: Option<String>,
    /// The maximum number of conversations [default: 20]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

#[derive(Args)]
pub(crate) struct ConversationArgument {
    /// The id of the conversation
    #[arg(value_parser = parse_id::<ConversationId>, add = complete::conversations())]
    conversation: ConversationId,
}

#[derive(Args)]
pub(crate) struct ConversationArguments {
    /// The ids of the conversations
    #[arg(required = true, value_name = "CONVERSATION", value_parser = parse_id::<ConversationId>)]
    #[arg(add = complete::conversations())]
    conversations: Vec<ConversationId>,
}

#[derive(Args)]
pub(crate) struct CreateConversationOptions {
    /// The agent of the conversation
    #[arg(long, add = complete::agents())]
    agent: Option<String>,
    /// Your own reference, unique in the tenant
    #[arg(long, value_name = "TEXT")]
    external_id: Option<String>,
    /// Metadata to attach (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair)]
    metadata: Vec<(String, String)>,
}

impl Verb for Conversations {
    fn default() -> Self {
        Self::List(ListConversationsOptions::default())
    }

    async fn run(&self, client: &Client, output: OutputFormat) -> anyhow::Result<Exit> {
        match self {
            Self::List(ListConversationsOptions { external_id, limit }) => {
                let query: Vec<_> = external_id
                    .iter()
                    .map(|id| ("external_id", id.clone()))
                    .collect();
                let limit = limit.unwrap_or(20) as usize;
                output.list(
                    &client
                        .list("/v1/conversations", &query, Some(limit))
                        .await?,
                    &KIND,
                )?;
            }
            Self::Get(ConversationArgument { conversation }) => {
                let conversation = fetch(client, *conversation).await?;
                let id = text_of(&conversation["id"]);
                output.one(&id, &conversation, || show(&conversation))?;
            }
            Self::Create(options) => {
                let created: Value = client.post("/v1/conversations", &options.body()).await?;
                let id = text_of(&created["id"]);
                output.one(&id, &created, || print(&id))?;
            }
            Self::Delete(ConversationArguments { conversations }) => {
                for id in conversations {
                    client.delete(&format!("/v1/conversations/{id}")).await?;
                    output.done(&KIND, "deleted", &id.to_string())?;
                }
            }
        }
        Ok(Exit::Done)
    }
}

impl CreateConversationOptions {
    fn body(&self) -> Value {
        let pairs = self.metadata.iter().cloned();
        let metadata: Map<_, _> = pairs.map(|(name, value)| (name, value.into())).collect();
        let mut body = json!({"external_id": self.external_id, "metadata": metadata});
        if let Some(agent) = &self.agent {
            body["agent"] = agent.as_str().into();
        }
        body
    }
}

/// Fetches a conversation with all of its messages.
async fn fetch(client: &Client, id: ConversationId) -> anyhow::Result<Value> {
    let path = format!("/v1/conversations/{id}");
    let mut query = vec![("limit", "100".to_owned())];
    let mut conversation: Value = client.get(&path, &query).await?;
    while let Some(cursor) = conversation["messages"]["next_cursor"].as_str() {
        query.truncate(1);
        query.push(("cursor", cursor.to_owned()));
        let mut page: Value = client.get(&path, &query).await?;
        let more = page["messages"]["data"].take();
        conversation["messages"]["next_cursor"] = page["messages"]["next_cursor"].take();
        if let (Some(all), Value::Array(more)) =
            (conversation["messages"]["data"].as_array_mut(), more)
        {
            all.extend(more);
        }
    }
    Ok(conversation)
}

/// Prints the fields of the conversation, then its messages.
fn show(conversation: &Value) -> anyhow::Result<()> {
    let mut fields = conversation.clone();
    let messages = fields
        .as_object_mut()
        .and_then(|it| it.shift_remove("messages"));
    print_fields(&fields)?;
    let messages = messages.unwrap_or_default();
    for message in messages["data"].as_array().into_iter().flatten() {
        let said = &message["said"];
        let text = match said["content"].as_array() {
            Some(blocks) => {
                let texts: Vec<_> = blocks
                    .iter()
                    .filter_map(|block| block["text"].as_str())
                    .collect();
                texts.join("\n")
            }
            None => text_of(if said["text"].is_null() {
                &said["output"]
            } else {
                &said["text"]
            }),
        };
        if !text.trim().is_empty() {
            print(&format!(
                "\n{}: {}",
                text_of(&said["role"]),
                text.trim_end()
            ))?;
        }
    }
    Ok(())
}
