//! Failures that end the process, and their messages.

use tests::bot_server::{BotServer, TOKEN};

use super::chat_bot::{ChatBot, ann, gated, is_running};
use crate::support::process::{self, Process};
use crate::support::{TIMEOUT, bash};

#[tokio::test]
async fn of_two_processes_of_one_bot_one_ends_and_says_why() {
    let mut bot = ChatBot::start().await;
    let mut second = bot.start_process();
    let ended = end_of_one(&mut bot.process, &mut second).await;
    assert_eq!(ended, Some(1), "{}", bot.log());
    let message = "error: another process receives the updates of this bot: stop it, or give each process a bot of its own";
    assert!(bot.log().contains(message), "{}", bot.log());
}

/// Returns the exit status of the process that ends first.
async fn end_of_one(first: &mut Process, second: &mut Process) -> Option<i32> {
    let ended = tokio::select! {
        ended = first.end_within(TIMEOUT) => ended,
        ended = second.end_within(TIMEOUT) => ended,
    };
    ended.expect("one ends").code()
}

#[tokio::test]
async fn a_wrong_start_says_what_to_do() {
    let server = BotServer::start();
    let home = tempfile::tempdir().unwrap();
    let run = async |variables: &[(&str, &str)]| {
        let mut environment = vec![
            ("SKILLET_URL".to_owned(), "http://127.0.0.1:9".to_owned()),
            ("SKILLET_API_KEY".to_owned(), "sk".to_owned()),
            ("SKILLET_TELEGRAM_API_URL".to_owned(), server.url()),
        ];
        environment.extend(
            variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        let log = home.path().join("log");
        let _ = std::fs::remove_file(&log);
        let mut process = process::start(&["telegram"], &environment, &log);
        let status = process.end_within(TIMEOUT).await.expect("it ends");
        assert!(!status.success());
        std::fs::read_to_string(&log).unwrap()
    };
    let missing = run(&[]).await;
    assert!(
        missing.contains("set SKILLET_TELEGRAM_TOKEN or --telegram-token-file"),
        "{missing}"
    );
    let malformed = run(&[("SKILLET_TELEGRAM_TOKEN", "hush-hush")]).await;
    assert!(
        malformed.contains("must be a number, a colon and letters"),
        "{malformed}"
    );
    let unknown = run(&[("SKILLET_TELEGRAM_TOKEN", "1:AAunknown-secret")]).await;
    assert!(
        unknown.contains("Telegram does not accept the token of the bot"),
        "{unknown}"
    );
    let file = home.path().join("token");
    std::fs::write(&file, "1:AAunknown-secret\n").unwrap();
    let from_file = run(&[("SKILLET_TELEGRAM_TOKEN_FILE", file.to_str().unwrap())]).await;
    assert!(
        from_file.contains("Telegram does not accept the token of the bot"),
        "{from_file}"
    );
    for log in [malformed, unknown, from_file] {
        assert!(
            !log.contains("hush-hush") && !log.contains("AAunknown"),
            "{log}"
        );
    }
}

#[tokio::test]
async fn the_token_is_in_no_log_also_when_telegram_is_out_of_reach() {
    let mut bot = ChatBot::with(&[("SKILLET_LOG", "trace")]).await;
    bot.telegram.write(ann(7).says(&bash("echo hi")));
    bot.telegram.wait_for(7, |it| it.text.trim() == "hi").await;
    bot.telegram.write(ann(7).says(&gated("true")));
    bot.telegram.wait_for(7, is_running).await;
    let gone = std::mem::replace(&mut bot.telegram, BotServer::start());
    drop(gone);
    crate::support::until(async || bot.log().contains("cannot reach the Bot API")).await;
    let secret = TOKEN.split(':').nth(1).unwrap();
    let log = bot.log();
    let leak = log.lines().find(|line| line.contains(secret));
    assert_eq!(leak, None);
    for job in bot.jobs(7).await {
        assert!(!job.to_string().contains(secret));
    }
    bot.process.kill();
}
