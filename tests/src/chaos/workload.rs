//! The jobs of a run: their requests, and the replies of the model.

use std::time::Duration;

use serde_json::{Value, json};

use super::schedule::{Kind, Planned};
use super::service::NEXT_VERSION;
use crate::model_server::{ModelServer, Reply, Request};

/// The first line of output of the command that shows the file.
pub(crate) const SHOWN: &str = "the file has:";

/// The time limit of a loop, whose job may take two hours.
const TIMEOUT_SECONDS: u32 = 7_200;
/// The delay of each model reply.
const THINKING: Duration = Duration::from_millis(30);
/// The beginning of the prompts that the model receives.
const ORDER: &str = "Do it.";
const CLAUDE: &str = "anthropic/claude-test";

/// Returns the request for a job. Its prompt contains the key, so that the model can identify the job.
pub(crate) fn request(key: &str, job: &Planned, conversation: &str) -> Value {
    let asked = format!("{ORDER} {}", marked(key));
    let mut body = match job.kind {
        Kind::Idle => skill("shell", "script/bash", "Nothing to do."),
        Kind::Script { turns } => {
            let commands = (0..turns).map(|turn| add_line(key, turn));
            let commands = commands.chain([show_lines()]);
            let blocks: Vec<_> = commands.map(|it| format!("```bash\n{it}\n```")).collect();
            skill("shell", "script/bash", &blocks.join("\n"))
        }
        Kind::Output => {
            let make = format!("echo '<!doctype html><title>{key}</title><p>{key}' > page.html");
            let prompt = format!("```bash\n{make}\n```\noutput html: page.html");
            skill("html", "script/bash", &prompt)
        }
        Kind::Loop { turns } => {
            let mut body = skill("shell", CLAUDE, &asked);
            // One turn shows the file and one is the final reply.
            body["limits"] =
                json!({"max_iterations": turns + 2, "timeout_seconds": TIMEOUT_SECONDS});
            body
        }
        Kind::Approval { .. } => json!({
            "agent": "default", "model": CLAUDE, "prompt": asked,
            "hooks": {"confirm": ["shell.*"]},
        }),
        Kind::Conversation => json!({
            "agent": "default", "model": CLAUDE, "prompt": asked, "conversation_id": conversation,
        }),
        Kind::NextVersion => json!({"agent": "default", "model": CLAUDE, "prompt": asked}),
    };
    body["metadata"] = match job.kind {
        Kind::NextVersion => json!({"key": key, "version": NEXT_VERSION}),
        _ => json!({ "key": key }),
    };
    body
}

fn skill(skill: &str, model: &str, prompt: &str) -> Value {
    json!({"skill": skill, "model": model, "prompt": prompt})
}

/// Scripts the model's replies to the jobs of a run. All their keys begin with the name of the run.
pub(crate) fn script(model: &ModelServer, run: &str, jobs: &[(String, Planned)]) {
    let jobs: Vec<_> = jobs
        .iter()
        .map(|(key, job)| (key.clone(), job.kind))
        .collect();
    model.script_conversation(run, move |request| {
        let find = |(key, kind): &(String, Kind)| {
            let turn = turn(request, &marked(key))?;
            Some(reply(key, *kind, turn))
        };
        let reply = jobs.iter().find_map(find);
        reply.unwrap_or_else(|| Reply::status(400)).delay(THINKING)
    });
}

fn reply(key: &str, kind: Kind, turn: usize) -> Reply {
    let (tool, adding, shows) = match kind {
        Kind::Loop { turns } => ("shell.exec", turns, true),
        Kind::Conversation => ("shell_exec", 2, true),
        _ => ("shell_exec", 2, false),
    };
    if turn < adding {
        call(tool, &add_line(key, turn))
    } else if turn == adding && shows {
        call(tool, &show_lines())
    } else {
        Reply::text("Done.")
    }
}

fn call(tool: &str, command: &str) -> Reply {
    Reply::text("I go on with it.").then_call(tool, json!({ "command": command }))
}

/// Returns the number of replies after the job's prompt, or `None` if the request is of another job.
pub(crate) fn turn(request: &Request, mark: &str) -> Option<usize> {
    let messages = request["messages"].as_array()?;
    // In a conversation, the prompts of earlier jobs come first.
    let is_prompt = |message: &&Value| {
        message["role"] == "user" && message["content"].to_string().contains(ORDER)
    };
    let prompt = messages.iter().rev().find(is_prompt)?;
    let after = messages
        .iter()
        .rev()
        .take_while(|message| !std::ptr::eq(*message, prompt));
    prompt["content"].to_string().contains(mark).then(|| {
        after
            .filter(|message| message["role"] == "assistant")
            .count()
    })
}

/// Returns the form of a key in a prompt: the marker of the run and the number of the job.
pub(crate) fn marked(key: &str) -> String {
    let (run, number) = key.split_once('.').unwrap_or((key, "0"));
    format!("#{run}, job {number} of it.")
}

/// Returns the command of a turn, which appends the job's line for that turn to the file.
fn add_line(key: &str, turn: usize) -> String {
    format!("echo {key} turn {turn} >> lines.txt; sleep 0.03")
}

/// Returns the line that a command appends.
pub(crate) fn line_of(command: &str) -> Option<&str> {
    let (line, _) = command
        .strip_prefix("echo ")?
        .split_once(" >> lines.txt;")?;
    Some(line)
}

/// Returns the command that shows the file.
fn show_lines() -> String {
    format!("echo '{SHOWN}'; cat lines.txt")
}
