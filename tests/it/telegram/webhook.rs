//! The webhook, which replaces long polling.

use reqwest::StatusCode;
use serde_json::json;
use tests::bot_server::ShownMessage;

use super::chat_bot::{ChatBot, ann, gated, is_running};
use crate::support::{bash, until};

/// Starts a bot with a webhook, and returns the bot and the URL.
async fn start() -> (ChatBot, String) {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let url = format!("http://{address}/hook");
    let bot = ChatBot::with(&[
        ("SKILLET_TELEGRAM_WEBHOOK_URL", &url),
        ("SKILLET_TELEGRAM_WEBHOOK_LISTEN", &address),
    ])
    .await;
    (bot, url)
}

#[tokio::test]
async fn updates_come_by_the_webhook_and_survive_a_kill() {
    let (mut bot, _) = start().await;
    let ann = ann(7);
    bot.telegram.write(ann.says(&bash("echo hi")));
    bot.telegram.wait_for(7, |it| it.text.trim() == "hi").await;
    let album = json!({"media_group_id": "a"});
    bot.telegram.write(
        ann.says(&bash("ls | tr '\\n' ' '"))
            .with_file("document", "a", b"1")
            .with(album.clone()),
    );
    bot.telegram
        .write(ann.says("").with_file("document", "b", b"2").with(album));
    bot.telegram.wait_for(7, |it| it.text.trim() == "a b").await;
    until(async || bot.telegram.unconfirmed() == 0).await;
    // The next process does not know when this one sent its last message, so it waits only if Telegram asks.
    assert_eq!(bot.telegram.violations(), [""; 0]);
    bot.process.kill();
    bot.telegram.write(ann.says(&bash("echo back")));
    bot.restart();
    bot.telegram
        .wait_for(7, |it| it.text.trim() == "back")
        .await;
    bot.settled(7).await;
    assert_eq!(bot.jobs(7).await.len(), 3);
    assert!(bot.telegram.calls("getUpdates").is_empty());
}

/// Sends a message to the webhook again, which the bot has handled before.
async fn repeat(bot: &ChatBot, url: &str, message: i64, text: &str) {
    let calls = bot.telegram.calls("setWebhook");
    let update = json!({"update_id": 1, "message": {
        "message_id": message, "chat": {"id": 7}, "from": {"id": 7}, "text": text,
    }});
    let request = reqwest::Client::new().post(url).json(&update).header(
        "X-Telegram-Bot-Api-Secret-Token",
        calls[0]["secret_token"].as_str().unwrap(),
    );
    assert_eq!(request.send().await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn a_repeated_cancel_does_not_cancel_a_later_job() {
    let (bot, url) = start().await;
    let ann = ann(7);
    bot.telegram.write(ann.says(&gated("true")));
    bot.telegram.wait_for(7, is_running).await;
    let cancel = bot.telegram.write(ann.says("/cancel"));
    bot.telegram
        .wait_for(7, |it| it.text.starts_with("⏹ Cancelled"))
        .await;
    bot.telegram.write(ann.says(&gated("echo later")));
    bot.telegram.wait_for(7, is_running).await;
    repeat(&bot, &url, cancel, "/cancel").await;
    bot.open_gates(7).await;
    bot.telegram
        .wait_for(7, |it| it.text.trim() == "later")
        .await;
}

#[tokio::test]
async fn a_repeated_new_does_not_end_the_conversation_of_a_later_job() {
    let (bot, url) = start().await;
    let ann = ann(7);
    let expect = async |prompt: &str, text: &str| {
        let asked = bot.telegram.write(ann.says(prompt));
        let is_answer = |it: &ShownMessage| it.reply_to == Some(asked) && it.text.trim() == text;
        bot.telegram.wait_for(7, is_answer).await;
        asked
    };
    expect(&bash("echo one"), "one").await;
    let new = expect("/new", "A new conversation with the agent runner").await;
    expect(&bash("echo two"), "two").await;
    repeat(&bot, &url, new, "/new").await;
    expect(&bash("echo three"), "three").await;
    let jobs = bot.jobs(7).await;
    let conversations: Vec<_> = jobs.iter().map(|job| &job["conversation_id"]).collect();
    assert_eq!(conversations[0], conversations[1]);
    assert_ne!(conversations[1], conversations[2]);
}

#[tokio::test]
async fn only_telegram_knows_the_secret() {
    let (bot, url) = start().await;
    let update = json!({"update_id": 1, "message": {"message_id": 1, "chat": {"id": 7}, "from": {"id": 7}, "text": "/help"}});
    let http = reqwest::Client::new();
    let secret = bot.telegram.calls("setWebhook")[0]["secret_token"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(secret.len() >= 32);
    for wrong in [None, Some(""), Some("x"), Some(&secret[1..])] {
        let mut request = http.post(&url).json(&update);
        if let Some(wrong) = wrong {
            request = request.header("X-Telegram-Bot-Api-Secret-Token", wrong);
        }
        assert_eq!(
            request.send().await.unwrap().status(),
            StatusCode::FORBIDDEN
        );
    }
    assert!(bot.telegram.sent(7).is_empty());
    let request = http.post(&url).json(&update);
    let request = request.header("X-Telegram-Bot-Api-Secret-Token", secret);
    assert_eq!(request.send().await.unwrap().status(), StatusCode::OK);
    assert_eq!(bot.telegram.sent(7).len(), 1);
}
