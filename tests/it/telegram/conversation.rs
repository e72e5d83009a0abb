//! Conversations: a chat, a thread of a forum, and /new.

use super::chat_bot::{ChatBot, GROUP, ann};
use crate::support::bash;

#[tokio::test]
async fn the_jobs_of_a_chat_are_one_conversation_until_it_asks_for_another() {
    let mut bot = ChatBot::start().await;
    let ann = ann(7);
    let expect = async |bot: &ChatBot, prompt: &str, text: &str| {
        let asked = bot.telegram.write(ann.says(prompt));
        let is_answer = |it: &tests::bot_server::ShownMessage| {
            it.reply_to == Some(asked) && it.text.trim() == text
        };
        bot.telegram.wait_for(7, is_answer).await;
    };
    expect(&bot, &bash("echo kept > note; echo ok"), "ok").await;
    expect(&bot, &bash("cat note"), "kept").await;
    for round in 0..2 {
        // The process keeps no state about the conversation.
        bot.process.kill();
        bot.restart();
        expect(&bot, "/new", "A new conversation with the agent runner").await;
        expect(
            &bot,
            "/agent careful",
            "A new conversation with the agent careful",
        )
        .await;
        expect(
            &bot,
            "/agent runner",
            "A new conversation with the agent runner",
        )
        .await;
        expect(&bot, &bash("cat note 2>/dev/null || echo none"), "none").await;
        expect(
            &bot,
            &bash(&format!("echo {round} > note; cat note")),
            &round.to_string(),
        )
        .await;
    }
    let jobs = bot.jobs(7).await;
    let mut conversations: Vec<_> = jobs
        .iter()
        .map(|job| job["conversation_id"].as_str())
        .collect();
    conversations.dedup();
    assert_eq!(conversations.len(), 3, "{conversations:?}");
}

#[tokio::test]
async fn a_thread_of_a_forum_is_a_conversation_of_its_own() {
    let bot = ChatBot::start().await;
    let ann = ann(7);
    for thread in [5, 6] {
        let prompt = format!("@skillet_bot {}", bash("ls | wc -l; touch a"));
        bot.telegram
            .write(ann.says(&prompt).in_chat(GROUP).in_thread(thread));
        let is_answer = |it: &tests::bot_server::ShownMessage| {
            it.thread == Some(thread) && it.text.trim() == "0"
        };
        bot.telegram.wait_for(GROUP, is_answer).await;
        assert_eq!(bot.jobs_of(&format!("{GROUP}/{thread}")).await.len(), 1);
    }
}
