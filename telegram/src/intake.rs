//! The creation of jobs from messages and their files.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::json;
use skillet_client::types::asset::Asset;
use skillet_client::{NewJob, UploadFile};

use crate::adapter::Adapter;
use crate::album::UpdateGroup;
use crate::chat_conversation;
use crate::chat_jobs::ChatJobs;
use crate::delivery::size_text;
use crate::error::TelegramError;
use crate::job_record::JobRecord;
use crate::job_task;
use crate::place::ChatPlace;
use crate::update::{ChatFile, ChatMessage};

/// The maximum length of a file name, in bytes.
const MAX_NAME_BYTES: usize = 120;

/// The target of a new job.
pub(crate) enum JobTarget<'a> {
    /// The agent of the current conversation.
    Conversation,
    /// A skill.
    Skill(&'a str),
}

/// The result of an intake.
pub(crate) enum Intake {
    /// The job exists and is followed.
    Accepted,
    /// The message cannot become a job, for this reason.
    Refused(String),
}

/// A file of a message, with the name that the job sees.
struct IncomingFile<'a> {
    file: &'a ChatFile,
    name: String,
}

#[derive(Deserialize)]
struct FoundFile {
    file_path: Option<String>,
}

/// Creates a job from messages. The same updates never create a second job.
pub(crate) async fn start_job(
    adapter: &Adapter,
    group: &UpdateGroup,
    target: JobTarget<'_>,
    prompt: String,
) -> Result<Intake, TelegramError> {
    let (client, bot) = (&adapter.client, adapter.bot.id());
    let key = update_key(bot, group.first);
    let jobs = ChatJobs { client, bot };
    if let Some(job) = jobs.of_update(&key).await? {
        job_task::follow(adapter, job.id);
        return Ok(Intake::Accepted);
    }
    let messages = group.messages();
    let Some(first) = messages.first() else {
        return Ok(Intake::Accepted);
    };
    let files = incoming_files(&messages, bot);
    let most = adapter.settings.max_download();
    if let Some(large) = files
        .iter()
        .find(|it| it.file.file_size.unwrap_or_default() > most)
    {
        let size = size_text(large.file.file_size.unwrap_or_default());
        let (name, most) = (&large.name, size_text(most));
        return Ok(Intake::Refused(format!(
            "{name} has {size}. A Telegram bot can read files of up to {most}. Upload it to the service instead, or \
             send a link."
        )));
    }
    if prompt.is_empty() && files.is_empty() {
        return Ok(Intake::Refused("Write what I should do.".to_owned()));
    }
    let place = first.place();
    let mut job = new_job(adapter, place, target, prompt, &files).await?;
    let (record, new) = (&mut job.0, &mut job.1);
    record.message = first.message_id;
    if !files.is_empty() {
        adapter.outbox.show_typing(place).await;
    }
    for file in &files {
        new.files.push((&fetch(adapter, file).await?).into());
    }
    new.external_id = Some(key.clone());
    new.metadata = record.to_metadata();
    let job = client.submit(new.clone()).idempotency_key(key).await?;
    job_task::follow(adapter, job.id);
    Ok(Intake::Accepted)
}

/// Returns the idempotency key of a job request, which is the same for the same update.
pub(crate) fn update_key(bot: i64, update: i64) -> String {
    format!("telegram-{bot}-{update}")
}

async fn new_job(
    adapter: &Adapter,
    place: ChatPlace,
    target: JobTarget<'_>,
    prompt: String,
    files: &[IncomingFile<'_>],
) -> Result<(JobRecord, NewJob), TelegramError> {
    let prompt = match prompt.is_empty() {
        true => {
            let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
            format!("These files came without a text: {}", names.join(", "))
        }
        false => prompt,
    };
    let mut record = JobRecord::new(adapter.bot.id(), place, 0);
    let mut job = match target {
        JobTarget::Skill(name) => NewJob::skill(name, prompt),
        JobTarget::Conversation => {
            let conversation = chat_conversation::current(adapter, place).await?;
            record.conversation = Some(conversation.number);
            NewJob {
                conversation_id: Some(conversation.id),
                ..NewJob::agent(conversation.agent, prompt)
            }
        }
    };
    job.models.clone_from(&adapter.settings.models);
    Ok((record, job))
}

/// Returns the files of the messages, and of the message to which they reply.
fn incoming_files<'a>(messages: &[&'a ChatMessage], bot: i64) -> Vec<IncomingFile<'a>> {
    let replied = messages
        .first()
        .and_then(|it| it.reply_to_message.as_deref());
    let is_own = |it: &&ChatMessage| it.from.as_ref().is_some_and(|user| user.id == bot);
    let replied = replied.filter(|it| !is_own(it));
    let mut names = HashSet::new();
    let mut files = Vec::new();
    for message in replied.into_iter().chain(messages.iter().copied()) {
        if let Some((file, default)) = message.file() {
            let name = clean_name(file.file_name.as_deref().unwrap_or_default(), default);
            let name = match names.insert(name.clone()) {
                true => name,
                false => format!("{}-{name}", message.message_id),
            };
            names.insert(name.clone());
            files.push(IncomingFile { file, name });
        }
    }
    files
}

/// Returns a name without folders and control characters.
fn clean_name(name: &str, default: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let mut clean: String = name.chars().filter(|it| !it.is_control()).collect();
    if clean.len() > MAX_NAME_BYTES {
        // The end is kept, because it contains the extension.
        let from = clean.len() - MAX_NAME_BYTES;
        let from = (from..).find(|at| clean.is_char_boundary(*at));
        clean.drain(..from.unwrap_or_default());
    }
    let clean = clean.trim().trim_start_matches('.');
    match clean.is_empty() {
        true => default.to_owned(),
        false => clean.to_owned(),
    }
}

/// Transfers a file from Telegram to the service.
async fn fetch(adapter: &Adapter, file: &IncomingFile<'_>) -> Result<Asset, TelegramError> {
    let body = json!({"file_id": file.file.file_id});
    let found: FoundFile = adapter.bot.call("getFile", &body).await?;
    let path = found.file_path.unwrap_or_default();
    let content = adapter.bot.download(&path).await?;
    let upload = UploadFile::Bytes {
        name: file.name.clone(),
        content: content.into(),
    };
    Ok(adapter.client.upload(upload).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_no_folders() {
        for (name, clean) in [
            ("a.csv", "a.csv"),
            ("../../etc/passwd", "passwd"),
            ("C:\\x\\a.txt", "a.txt"),
            ("..", "file"),
            ("", "file"),
            ("a\u{0}\nb", "ab"),
            (".env", "env"),
        ] {
            assert_eq!(clean_name(name, "file"), clean, "{name}");
        }
        let long = format!("{}.csv", "🥖".repeat(100));
        let clean = clean_name(&long, "file");
        assert!(clean.len() <= MAX_NAME_BYTES && clean.ends_with("🥖.csv"));
    }

    #[test]
    fn files_of_one_name_get_different_ones() {
        let message = |id: i64, from: i64, reply: Option<serde_json::Value>| {
            serde_json::from_value::<ChatMessage>(json!({
                "message_id": id, "chat": {"id": 1}, "from": {"id": from}, "reply_to_message": reply,
                "photo": [{"file_id": "s", "file_size": 1}, {"file_id": "l", "file_size": 2}],
            }))
            .unwrap()
        };
        let replied = json!({"message_id": 1, "chat": {"id": 1}, "from": {"id": 5}, "document": {"file_id": "d", "file_name": "d.pdf"}});
        let (first, second) = (message(8, 5, Some(replied.clone())), message(9, 5, None));
        let files = incoming_files(&[&first, &second], 42);
        let found: Vec<_> = files
            .iter()
            .map(|it| (it.name.as_str(), it.file.file_id.as_str()))
            .collect();
        assert_eq!(
            found,
            [("d.pdf", "d"), ("photo.jpg", "l"), ("9-photo.jpg", "l")]
        );
        assert_eq!(
            incoming_files(&[&first, &second], 5).len(),
            2,
            "the bot's own file"
        );
    }
}
