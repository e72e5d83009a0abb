//! The current conversation of a place, which its next message continues.
//!
//! The conversations of a place are numbered. The number is in their `external_id`, and in the metadata of their jobs.

use serde::{Deserialize, Serialize};
use skillet_client::Error;
use skillet_client::types::id::ConversationId;

use crate::adapter::Adapter;
use crate::chat_jobs::ChatJobs;
use crate::job_record::JobRecord;
use crate::place::ChatPlace;
use crate::update::ChatMessage;

/// A conversation, with its number in its place.
pub(crate) struct ChatConversation {
    pub(crate) id: ConversationId,
    pub(crate) number: u32,
    pub(crate) agent: String,
}

#[derive(Deserialize)]
struct FoundConversation {
    id: ConversationId,
    agent: String,
}

#[derive(Serialize)]
struct WantedConversation<'a> {
    agent: &'a str,
    external_id: String,
}

/// Returns the current conversation, and creates one if there is none.
pub(crate) async fn current(
    adapter: &Adapter,
    place: ChatPlace,
) -> Result<ChatConversation, Error> {
    let number = current_number(adapter, place).await?;
    let agent = &adapter.settings.agent;
    get_or_create(adapter, place, number.unwrap_or_default(), agent).await
}

/// Starts the conversation that a message asks for, which becomes the current one. Without a name, the agent stays the
/// same. If a later message has a job, the message was handled before, and the current conversation is that of the job.
pub(crate) async fn begin(
    adapter: &Adapter,
    message: &ChatMessage,
    agent: Option<&str>,
) -> Result<ChatConversation, Error> {
    let place = message.place();
    if has_later_job(adapter, message).await? {
        return current(adapter, place).await;
    }
    let Some(number) = current_number(adapter, place).await? else {
        let agent = agent.unwrap_or(&adapter.settings.agent);
        return get_or_create(adapter, place, 0, agent).await;
    };
    let before = get_or_create(adapter, place, number, &adapter.settings.agent).await?;
    let agent = agent.unwrap_or(&before.agent);
    get_or_create(adapter, place, number + 1, agent).await
}

async fn has_later_job(adapter: &Adapter, message: &ChatMessage) -> Result<bool, Error> {
    let (client, bot) = (&adapter.client, adapter.bot.id());
    let jobs = ChatJobs { client, bot };
    let latest = jobs.latest(message.place(), "", 1).await?;
    let record = latest.first().and_then(|job| JobRecord::of(job, bot));
    Ok(record.is_some_and(|record| record.message > message.message_id))
}

/// Returns the number of the latest conversation: that of the latest job, or a later one that was started without a
/// job.
async fn current_number(adapter: &Adapter, place: ChatPlace) -> Result<Option<u32>, Error> {
    let bot = adapter.bot.id();
    let client = &adapter.client;
    let jobs = ChatJobs { client, bot };
    let mut numbers = None;
    // A job of a skill has no number, so several jobs are checked.
    for job in jobs.latest(place, "", 100).await? {
        numbers = JobRecord::of(&job, bot).and_then(|record| record.conversation);
        if numbers.is_some() {
            break;
        }
    }
    let mut next = numbers.map_or(0, |number| number + 1);
    while find(adapter, place, next).await?.is_some() {
        numbers = Some(next);
        next += 1;
    }
    Ok(numbers)
}

async fn find(
    adapter: &Adapter,
    place: ChatPlace,
    number: u32,
) -> Result<Option<FoundConversation>, Error> {
    let query = [("external_id", external_id(adapter, place, number))];
    let found = adapter.client.list("/v1/conversations", &query, Some(1));
    Ok(found.await?.into_iter().next())
}

async fn get_or_create(
    adapter: &Adapter,
    place: ChatPlace,
    number: u32,
    agent: &str,
) -> Result<ChatConversation, Error> {
    let external_id = external_id(adapter, place, number);
    let wanted = WantedConversation { agent, external_id };
    let found: FoundConversation = adapter.client.post("/v1/conversations", &wanted).await?;
    Ok(ChatConversation {
        id: found.id,
        number,
        agent: found.agent,
    })
}

fn external_id(adapter: &Adapter, place: ChatPlace, number: u32) -> String {
    format!("telegram:{}:{place}:{number}", adapter.bot.id())
}
