//! Jobs from messages: input files, and output texts and files.

use reqwest::Method;
use serde_json::{Value, json};
use tests::bot_server::ShownMessage;

use super::chat_bot::{ChatBot, PIXEL, ann, gated, is_done, is_running, making, texts};
use crate::support::{bash, send, until};

#[tokio::test]
async fn a_file_goes_in_and_a_chart_comes_out() {
    let bot = ChatBot::start().await;
    let command = format!("wc -l < sales.csv; echo {PIXEL} | base64 -d > chart.png");
    let prompt = making(&command, "chart.png");
    let ann = ann(7);
    let asked = bot.telegram.write(ann.says(&prompt).with_file(
        "document",
        "sales.csv",
        b"a\nb\nc\n",
    ));
    let picture = bot.telegram.wait_for(7, |it| it.file.is_some()).await;
    let file = picture.file.unwrap();
    assert_eq!(
        (file.kind.as_str(), file.name.as_str()),
        ("photo", "chart.png")
    );
    bot.settled(7).await;
    let sent = bot.telegram.sent(7);
    assert_eq!(sent.len(), 3, "{sent:#?}");
    assert!(is_done(&sent[0]), "{sent:#?}");
    assert!(
        sent[0].text.contains("⚙ shell.exec wc -l < sales.csv"),
        "{sent:#?}"
    );
    assert!(sent[0].text.contains("2 calls, 1 file"), "{sent:#?}");
    assert_eq!(sent[1].text.trim(), "3");
    assert!(sent.iter().all(|it| it.reply_to == Some(asked)));
    assert_eq!(bot.telegram.violations(), [""; 0]);
    until(async || bot.telegram.unconfirmed() == 0).await;
}

#[tokio::test]
async fn every_kind_of_file_is_an_input_and_an_album_is_one_job() {
    let bot = ChatBot::start().await;
    let list = bash("ls | sort | tr '\\n' ' '");
    let ann = ann(7);
    let album = json!({"media_group_id": "a1"});
    bot.telegram.write(
        ann.says(&list)
            .with_file("photo", "x", b"1")
            .with(album.clone()),
    );
    for (kind, name) in [
        ("document", "../../notes.txt"),
        ("audio", "song.mp3"),
        ("video", "film.mp4"),
    ] {
        let message = ann.says("").with_file(kind, name, b"2").with(album.clone());
        bot.telegram.write(message);
    }
    bot.settled(7).await;
    let last = bot.telegram.sent(7).pop().unwrap();
    assert_eq!(last.text.trim(), "film.mp4 notes.txt photo.jpg song.mp3");
    assert_eq!(bot.jobs(7).await.len(), 1);

    let voice = bot
        .telegram
        .write(ann.says("").with_file("voice", "v", b"3"));
    let is_answer = |it: &ShownMessage| it.reply_to == Some(voice) && is_done(it);
    bot.telegram.wait_for(7, is_answer).await;
    let (_, request) = bot
        .service
        .get(&format!("/v1/jobs/{}/request", id(&bot).await))
        .await;
    assert_eq!(request["prompt"], "These files came without a text: v");
}

#[tokio::test]
async fn a_reply_brings_the_text_and_the_file_of_another_message() {
    let bot = ChatBot::start().await;
    let ann = ann(7);
    // In a group, Telegram sends a bot only the messages that are addressed to the bot.
    let other = bot.telegram.write(
        ann.says("")
            .in_chat(-5)
            .with_file("document", "n.txt", b"1\n2\n"),
    );
    let replied = json!({"message_id": other, "chat": {"id": 7}, "from": {"id": 8, "first_name": "Bob"},
        "caption": "look", "document": {"file_id": format!("file-{other}"), "file_name": "n.txt", "file_size": 4}});
    let reply = ann
        .says(&bash("wc -l < n.txt"))
        .with(json!({"reply_to_message": replied}));
    bot.telegram.write(reply);
    bot.settled(7).await;
    assert_eq!(bot.telegram.sent(7).pop().unwrap().text.trim(), "2");
    let (_, request) = bot
        .service
        .get(&format!("/v1/jobs/{}/request", id(&bot).await))
        .await;
    assert!(
        request["prompt"]
            .as_str()
            .unwrap()
            .starts_with("> look\n\n```bash"),
        "{request:#}"
    );
}

#[tokio::test]
async fn what_is_too_large_or_no_file_is_refused_in_words() {
    let bot = ChatBot::start().await;
    let ann = ann(7);
    let large = json!({"document": {"file_id": "f", "file_name": "film.mkv", "file_size": 3_000_000_000_u64}});
    bot.telegram.write(ann.says("See").with(large));
    let refusal = bot.telegram.wait_for(7, |_| true).await.text;
    assert!(
        refusal.starts_with(
            "film.mkv has 3000.0 MB. A Telegram bot can read files of up to 2000.0 MB."
        ),
        "{refusal}"
    );
    bot.telegram
        .write(ann.says("").with(json!({"sticker": {"file_id": "s"}})));
    let refusal = "I read text, photos, documents, voice messages, audio and video.";
    bot.telegram.wait_for(7, |it| it.text == refusal).await;
    assert!(bot.jobs(7).await.is_empty());
}

/// Changes a setting of the tenant.
async fn put(bot: &ChatBot, setting: &str, value: &Value) {
    let (_, tenants) = bot.service.get("/v1/tenants").await;
    let tenant = tenants["data"][0]["id"].as_str().unwrap();
    let path = format!("/v1/tenants/{tenant}/{setting}");
    let put = bot.service.request(Method::PUT, &path);
    let (status, answer) = send(put.json(value)).await;
    assert_eq!(status, 200, "{answer:#}");
}

#[tokio::test]
async fn a_full_queue_is_answered_and_its_jobs_can_be_cancelled() {
    let bot = ChatBot::start().await;
    put(&bot, "submission_limits", &json!({"max_queued": 1})).await;
    bot.telegram.write(ann(7).says(&gated("true")));
    bot.telegram.wait_for(7, is_running).await;
    bot.telegram.write(ann(8).says(&bash("echo hi")));
    let refused = |it: &ShownMessage| it.text.starts_with('❌');
    bot.telegram.wait_for(8, refused).await;
    bot.telegram.write(ann(7).says("/cancel"));
    let cancelled = |it: &ShownMessage| it.text.starts_with("⏹ Cancelled");
    bot.telegram.wait_for(7, cancelled).await;
    assert!(bot.jobs(8).await.is_empty());
}

#[tokio::test]
async fn a_refusal_by_the_budget_is_answered_and_blocks_nobody() {
    let bot = ChatBot::start().await;
    put(&bot, "budget", &json!({"max_total_tokens": 0})).await;
    bot.telegram.write(ann(7).says("Go."));
    let refused = |it: &ShownMessage| it.text.starts_with('❌');
    bot.telegram.wait_for(7, refused).await;
    bot.telegram.write(ann(8).says("/help"));
    bot.telegram.wait_for(8, |_| true).await;
}

#[tokio::test]
async fn long_texts_are_split_and_very_long_ones_are_files() {
    let bot = ChatBot::start().await;
    let print = |letters: usize| bash(&format!("printf 'x%.0s' $(seq {letters})"));
    for (person, letters, lengths) in [(7, 4096, vec![4096]), (8, 4097, vec![4096, 1])] {
        bot.telegram.write(ann(person).says(&print(letters)));
        bot.settled(person).await;
        let sent = bot.telegram.sent(person);
        let found: Vec<_> = sent[1..].iter().map(|it| it.text.len()).collect();
        assert_eq!(found, lengths, "{letters}");
    }
    bot.telegram.write(ann(9).says(&print(13_000)));
    bot.settled(9).await;
    let sent = bot.telegram.sent(9);
    assert!(
        sent[1].text.ends_with("The whole text is in answer.md."),
        "{sent:#?}"
    );
    let file = sent[2].file.as_ref().unwrap();
    assert_eq!(
        (file.name.as_str(), file.content.len()),
        ("answer.md", 13_000)
    );
    assert_eq!(bot.telegram.violations(), [""; 0]);
}

#[tokio::test]
async fn hostile_names_and_markup_stay_text() {
    let bot = ChatBot::start().await;
    let ann = ann(7);
    let hostile = "</b><script>&lt; \u{202e}%s";
    let name = "<b>&\";$(id).txt";
    let command = format!(
        "printf '%s\\n' '{hostile}' '# <i>Title</i>' '[x](javascript:1) **b' && echo hi > '{name}'"
    );
    bot.telegram.write(
        ann.says(&making(&command, name))
            .with_file("document", "<i>\n&.csv", b"x"),
    );
    let file = bot
        .telegram
        .wait_for(7, |it| it.file.is_some())
        .await
        .file
        .unwrap();
    assert_eq!(file.kind, "document");
    bot.settled(7).await;
    let sent = bot.telegram.sent(7);
    assert!(is_done(&sent[0]));
    let answer = texts(&sent)[1];
    assert!(
        answer.contains("</b><script>&lt; %s") || answer.contains("</b><script>< %s"),
        "{answer}"
    );
    assert!(answer.contains("<i>Title</i>"), "{answer}");
    assert_eq!(bot.telegram.violations(), [""; 0]);
}

#[tokio::test]
async fn a_picture_that_telegram_refuses_comes_as_a_document() {
    let bot = ChatBot::start().await;
    let refusal =
        tests::bot_server::CallFault::Refuse(400, "Bad Request: PHOTO_INVALID_DIMENSIONS");
    bot.telegram.fail("sendPhoto", refusal);
    let command = format!("echo {PIXEL} | base64 -d > chart.png");
    bot.telegram
        .write(ann(7).says(&making(&command, "chart.png")));
    let file = bot
        .telegram
        .wait_for(7, |it| it.file.is_some())
        .await
        .file
        .unwrap();
    assert_eq!(
        (file.kind.as_str(), file.name.as_str()),
        ("document", "chart.png")
    );
}

#[tokio::test]
async fn a_file_that_telegram_does_not_take_is_a_link() {
    let bot = ChatBot::start().await;
    bot.telegram.fail(
        "sendDocument",
        tests::bot_server::CallFault::Refuse(413, "Request Entity Too Large"),
    );
    bot.telegram
        .write(ann(7).says(&making("head -c 2500000 /dev/zero > big.bin", "big.bin")));
    let link = bot
        .telegram
        .wait_for(7, |it| it.text.starts_with("📎"))
        .await
        .text;
    let job = id(&bot).await;
    let url = format!("{}/console/jobs/{job}", bot.service.url);
    assert_eq!(
        link,
        format!("📎 big.bin, 2.5 MB: Telegram did not accept it. It is at {url}")
    );
}

/// Returns the id of the latest job.
async fn id(bot: &ChatBot) -> String {
    bot.jobs(7).await[0]["id"].as_str().unwrap().to_owned()
}
