//! Chat commands.

use super::chat_bot::{ChatBot, ann, gated, is_done, is_running};
use crate::support::{bash, until};

#[tokio::test]
async fn help_and_lists_say_what_there_is() {
    let bot = ChatBot::start().await;
    let ann = ann(7);
    let commands = &bot.telegram.calls("setMyCommands")[0];
    assert_eq!(commands["commands"].as_array().unwrap().len(), 7);
    for (text, expected) in [
        ("/help", "/cancel – Cancel a job"),
        ("/start", "Write what you want"),
        ("/skill", "shell – "),
        ("/agent", "careful"),
        ("/jobs", "There are no jobs here yet."),
        ("/retry", "No ended job found in this chat."),
        (
            "/cancel job_nonsense",
            "No unfinished job found in this chat.",
        ),
        ("/dance", "There is no command /dance."),
        ("/skill no-such-skill do it", "no-such-skill"),
        ("/agent no-such-agent", "there is no agent `no-such-agent`"),
    ] {
        let asked = bot.telegram.write(ann.says(text));
        let answer = bot
            .telegram
            .wait_for(7, |it| it.reply_to == Some(asked))
            .await;
        assert!(answer.text.contains(expected), "{text}: {}", answer.text);
    }
    assert!(bot.jobs(7).await.is_empty());
    assert_eq!(bot.telegram.violations(), [""; 0]);
}

#[tokio::test]
async fn a_skill_runs_by_its_name() {
    let bot = ChatBot::start().await;
    let text = format!("/skill shell {}", bash("wc -c < a.txt"));
    bot.telegram
        .write(ann(7).says(&text).with_file("document", "a.txt", b"12345"));
    bot.telegram.wait_for(7, |it| it.text.trim() == "5").await;
    assert_eq!(bot.jobs(7).await[0]["skill"], "shell");
}

#[tokio::test]
async fn a_job_is_cancelled_and_run_again() {
    let bot = ChatBot::start().await;
    let ann = ann(7);
    bot.telegram.write(ann.says(&gated("true")));
    let status = bot.telegram.wait_for(7, is_running).await;
    bot.telegram.write(ann.says("/jobs"));
    bot.telegram
        .wait_for(7, |it| {
            it.text.starts_with("⏳ ```bash") || it.text.contains("job_")
        })
        .await;
    bot.telegram
        .write(ann.says("/cancel").replying_to(status.id));
    bot.telegram
        .wait_for(7, |it| {
            it.id == status.id && it.text.starts_with("⏹ Cancelled")
        })
        .await;
    bot.settled(7).await;
    let again = bot
        .telegram
        .write(ann.says("/retry").replying_to(status.id));
    until(async || bot.jobs(7).await.len() == 2).await;
    bot.open_gates(7).await;
    let done = bot.telegram.wait_for(7, is_done).await;
    assert_eq!(done.reply_to, Some(again));
    bot.settled(7).await;
    let jobs = bot.jobs(7).await;
    assert_eq!(jobs[0]["retry_of"], jobs[1]["id"]);
    assert_eq!(jobs[0]["conversation_id"], jobs[1]["conversation_id"]);
    // Another chat cannot retry the job.
    let other = super::chat_bot::ann(8);
    let id = jobs[0]["id"].as_str().unwrap();
    bot.telegram.write(other.says(&format!("/retry {id}")));
    let refusal = "No ended job found in this chat.";
    bot.telegram.wait_for(8, |it| it.text == refusal).await;
}
