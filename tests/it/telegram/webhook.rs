//! The webhook, which replaces long polling.

use reqwest::StatusCode;
use serde_json::json;

use super::chat_bot::{ChatBot, ann};
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
