//! The pace of messages, and failed calls.

use tests::bot_server::CallFault;

use super::chat_bot::{ChatBot, GROUP, ann, gated, is_done, is_running, making};
use crate::support::{bash, until};

#[tokio::test]
async fn a_flood_of_events_stays_within_the_limits() {
    let bot = ChatBot::start().await;
    let calls: Vec<_> = (0..25)
        .map(|number| bash(&format!("seq 2000; echo {number}")))
        .collect();
    let flood = calls.join("\n");
    for person in [7, 8] {
        bot.telegram.write(ann(person).says(&flood));
    }
    bot.telegram
        .write(ann(9).says(&format!("@skillet_bot {flood}")).in_chat(GROUP));
    for chat in [7, 8, GROUP] {
        let done = bot.telegram.wait_for(chat, is_done).await;
        assert!(
            done.text.contains("25 calls") && done.text.contains("… 13 earlier calls"),
            "{done:#?}"
        );
        bot.settled(chat).await;
    }
    assert_eq!(bot.telegram.violations(), [""; 0]);
}

#[tokio::test]
async fn what_matters_waits_as_long_as_telegram_says_and_is_never_dropped() {
    let bot = ChatBot::start().await;
    let ann = ann(7);
    for method in [
        "sendMessage",
        "sendMessage",
        "editMessageText",
        "sendDocument",
    ] {
        bot.telegram.fail(method, CallFault::TooMany(2));
    }
    bot.telegram
        .fail("sendMessage", CallFault::Refuse(502, "Bad Gateway"));
    bot.telegram.fail(
        "editMessageText",
        CallFault::Refuse(500, "Internal Server Error"),
    );
    bot.telegram
        .write(ann.says(&making("echo hi | tee a.txt", "a.txt")));
    bot.settled(7).await;
    let sent = bot.telegram.sent(7);
    assert_eq!(sent.len(), 3, "{sent:#?}");
    assert!(is_done(&sent[0]) && sent[1].text.trim() == "hi" && sent[2].file.is_some());
    assert_eq!(bot.telegram.violations(), [""; 0]);
}

#[tokio::test]
async fn a_chat_that_telegram_asks_to_wait_holds_up_no_other() {
    let bot = ChatBot::start().await;
    bot.telegram.fail("sendMessage", CallFault::TooMany(3600));
    bot.telegram.write(ann(7).says("/help"));
    bot.telegram.wait_for_call("sendMessage", 0).await;
    bot.telegram.write(ann(8).says("/help"));
    bot.telegram.wait_for(8, |_| true).await;
    assert!(bot.telegram.sent(7).is_empty());
}

#[tokio::test]
async fn answers_that_wait_keep_their_order() {
    let bot = ChatBot::start().await;
    bot.telegram.fail("sendMessage", CallFault::TooMany(2));
    let texts = ["/help", "/jobs", "/skill", "/agent", "/help"];
    let asked = texts.map(|text| bot.telegram.write(ann(7).says(text)));
    until(async || bot.telegram.sent(7).len() >= asked.len()).await;
    let sent = bot.telegram.sent(7);
    let answered: Vec<_> = sent.iter().filter_map(|it| it.reply_to).collect();
    assert_eq!(answered, asked, "{sent:#?}");
    assert_eq!(bot.telegram.violations(), [""; 0]);
}

#[tokio::test]
async fn a_file_whose_upload_fails_again_and_again_becomes_a_link() {
    let bot = ChatBot::start().await;
    for _ in 0..5 {
        bot.telegram
            .fail("sendDocument", CallFault::Refuse(502, "Bad Gateway"));
    }
    let prompt = making("echo hi | tee a.txt", "a.txt");
    bot.telegram.write(ann(7).says(&prompt));
    bot.settled(7).await;
    let sent = bot.telegram.sent(7);
    let link = &sent.last().unwrap().text;
    assert!(
        link.starts_with("📎 a.txt, 3 B: Telegram did not accept it."),
        "{sent:#?}"
    );
    assert_eq!(bot.telegram.calls("sendDocument").len(), 5);
}

#[tokio::test]
async fn text_whose_markup_is_refused_comes_as_plain_text() {
    let bot = ChatBot::start().await;
    bot.telegram
        .write(ann(7).says(&gated("printf '**bold** text'")));
    bot.telegram.wait_for(7, is_running).await;
    let refusal = "Bad Request: can't parse entities: test";
    bot.telegram
        .fail("sendMessage", CallFault::Refuse(400, refusal));
    bot.open_gates(7).await;
    let answer = bot.telegram.wait_for(7, |it| it.text == "bold text").await;
    assert!(answer.runs.iter().all(|run| run.tags.is_empty()));
}

#[tokio::test]
async fn a_chat_that_refuses_messages_holds_back_nobody() {
    let bot = ChatBot::start().await;
    let blocked = "Forbidden: bot was blocked by the user";
    for _ in 0..3 {
        bot.telegram
            .fail("sendMessage", CallFault::Refuse(403, blocked));
    }
    bot.telegram.write(ann(7).says(&bash("echo lost")));
    bot.settled(7).await;
    bot.telegram.write(ann(8).says(&bash("echo hi")));
    bot.telegram.write(ann(8).says(&bash("echo there")));
    bot.telegram
        .wait_for(8, |it| it.text.trim() == "there")
        .await;
}
