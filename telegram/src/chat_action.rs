//! The commands of a chat, with their actions and answers.

use serde::Deserialize;
use skillet_client::types::id::JobId;
use skillet_client::types::job::{Job, Status};

use crate::adapter::Adapter;
use crate::album::UpdateGroup;
use crate::chat_conversation;
use crate::chat_jobs::ChatJobs;
use crate::command::{COMMANDS, ChatCommand};
use crate::error::TelegramError;
use crate::intake::{Intake, JobTarget, start_job, update_key};
use crate::job_record::JobRecord;
use crate::job_task;
use crate::rich_text::RichText;
use crate::split::shorten;
use crate::update::ChatMessage;

/// The maximum number of jobs in a list.
const LISTED_JOBS: usize = 10;
/// The maximum number of jobs among which a command looks for the latest one before it. Telegram sends at most 100
/// updates again.
const SEARCHED_JOBS: usize = 100;
/// The maximum number of characters of a description in a list.
const DESCRIPTION_CHARS: usize = 80;
/// The number of characters after which a list ends, so that it fits into one message.
const LIST_CHARS: usize = 3800;
const UNFINISHED: &str = "queued,running,waiting";
const ENDED: &str = "completed,failed,cancelled";

/// A skill or an agent, in a list.
#[derive(Deserialize)]
struct NamedEntry {
    name: String,
    #[serde(default)]
    description: String,
}

/// Runs a command. Returns its answer, unless the chat sees the result in another way.
pub(crate) async fn run(
    adapter: &Adapter,
    group: &UpdateGroup,
    message: &ChatMessage,
    command: &ChatCommand,
) -> Result<Option<RichText>, TelegramError> {
    let answer = match command.name.as_str() {
        "start" | "help" => help(adapter),
        "new" => {
            let conversation = chat_conversation::begin(adapter, message, None).await?;
            RichText::plain("A new conversation with the agent ").bold(&conversation.agent)
        }
        "agent" => match command.argument().0 {
            "" => {
                list(
                    adapter,
                    "/v1/agents",
                    "Agents. Choose one with /agent NAME:",
                )
                .await?
            }
            name => {
                let conversation = chat_conversation::begin(adapter, message, Some(name)).await?;
                RichText::plain("A new conversation with the agent ").bold(&conversation.agent)
            }
        },
        "skill" => match command.argument() {
            ("", _) => {
                list(
                    adapter,
                    "/v1/skills",
                    "Skills. Run one with /skill NAME TASK:",
                )
                .await?
            }
            (name, task) => {
                let target = JobTarget::Skill(name);
                match start_job(adapter, group, target, task.to_owned()).await? {
                    Intake::Accepted => return Ok(None),
                    Intake::Refused(reason) => RichText::plain(reason),
                }
            }
        },
        "jobs" => jobs(adapter, message).await?,
        "cancel" => match find(adapter, message, command, UNFINISHED).await? {
            Some(job) => {
                let job = adapter.client.cancel(job.id).await?;
                // The end of the job updates its status message.
                if !job.status.is_terminal() {
                    RichText::plain("Cancelling…")
                } else {
                    return Ok(None);
                }
            }
            None => RichText::plain("No unfinished job found in this chat."),
        },
        "retry" => match find(adapter, message, command, ENDED).await? {
            Some(job) => {
                retry(adapter, group, message, &job).await?;
                return Ok(None);
            }
            None => RichText::plain("No ended job found in this chat."),
        },
        other => RichText::plain(format!("There is no command /{other}. /help lists them.")),
    };
    Ok(Some(answer))
}

fn help(adapter: &Adapter) -> RichText {
    let mut text = RichText::plain(
        "Write what you want, and attach files if needed. I answer when the job is done, and send the files that it made. \
         If you reply to a message, I also get its text and its file. In a group, mention me or reply to me.\n",
    );
    for (name, description) in COMMANDS {
        text = text
            .text(&format!("\n/{name}"))
            .text(" – ")
            .text(description);
    }
    text.text(&format!(
        "\n\nThe console: {}/console/",
        adapter.settings.link_url
    ))
}

async fn list(adapter: &Adapter, path: &str, title: &str) -> Result<RichText, TelegramError> {
    let entries: Vec<NamedEntry> = adapter.client.list(path, &[], None).await?;
    let mut text = RichText::plain(title);
    for (place, entry) in entries.iter().enumerate() {
        if text.length() > LIST_CHARS {
            let left = entries.len() - place;
            return Ok(text.text(&format!("\n… and {left} more")));
        }
        let description = shorten(&entry.description, DESCRIPTION_CHARS);
        text = text.text("\n").bold(&shorten(&entry.name, 64));
        if !description.is_empty() {
            text = text.text(" – ").text(&description);
        }
    }
    Ok(text)
}

async fn jobs(adapter: &Adapter, message: &ChatMessage) -> Result<RichText, TelegramError> {
    let jobs = chat_jobs(adapter)
        .latest(message.place(), "", LISTED_JOBS)
        .await?;
    if jobs.is_empty() {
        return Ok(RichText::plain("There are no jobs here yet."));
    }
    let mut text = RichText::default();
    for job in &jobs {
        let mark = match job.status {
            Status::Completed => "✅",
            Status::Failed => "❌",
            Status::Cancelled => "⏹",
            Status::Queued | Status::Running | Status::Waiting => "⏳",
        };
        text = text
            .text(mark)
            .text(" ")
            .text(&shorten(&job.title, DESCRIPTION_CHARS));
        text = text.text("\n    ").code(&job.id.to_string()).text("\n");
    }
    Ok(text)
}

/// Returns the job that a command is about: the named job, the job of the message that it replies to, or the latest
/// job in one of these states. If the command is handled again, the latter is no job of a later message.
async fn find(
    adapter: &Adapter,
    message: &ChatMessage,
    command: &ChatCommand,
    statuses: &str,
) -> Result<Option<Job>, TelegramError> {
    let place = message.place();
    let jobs = chat_jobs(adapter);
    let is_fitting = |job: &Job| statuses.split(',').any(|it| it == job.status.as_str());
    let record = |job: &Job| JobRecord::of(job, adapter.bot.id());
    let is_here = |job: &Job| record(job).is_some_and(|record| record.place == place);
    let is_earlier =
        |job: &Job| record(job).is_some_and(|record| record.message < message.message_id);
    let named = command.argument().0;
    let found = if !named.is_empty() {
        match named.parse::<JobId>() {
            Ok(id) => Some(adapter.client.job(id).await?).filter(is_here),
            Err(_) => None,
        }
    } else if let Some(replied) = &message.reply_to_message {
        jobs.of_message(place, replied.message_id).await?
    } else {
        let latest = jobs.latest(place, statuses, SEARCHED_JOBS).await?;
        latest.into_iter().find(is_earlier)
    };
    Ok(found.filter(is_fitting))
}

/// Runs a job again. Its messages reply to the message with the command.
async fn retry(
    adapter: &Adapter,
    group: &UpdateGroup,
    message: &ChatMessage,
    before: &Job,
) -> Result<(), TelegramError> {
    let bot = adapter.bot.id();
    let key = update_key(bot, group.first);
    let job = adapter.client.retry(before.id, &key).await?;
    let record = JobRecord::of(&job, bot);
    // If this update was handled before, the record is already that of the new job.
    if record
        .as_ref()
        .is_none_or(|it| it.message != message.message_id)
    {
        let mut new = JobRecord::new(bot, message.place(), message.message_id);
        new.conversation = record.and_then(|record| record.conversation);
        chat_jobs(adapter).save(job.id, &new).await?;
    }
    job_task::follow(adapter, job.id);
    Ok(())
}

fn chat_jobs(adapter: &Adapter) -> ChatJobs<'_> {
    ChatJobs {
        client: &adapter.client,
        bot: adapter.bot.id(),
    }
}
