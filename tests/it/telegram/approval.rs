//! Approvals in a chat.

use serde_json::json;
use tests::bot_server::{Person, ShownMessage};

use super::chat_bot::{ChatBot, GROUP, ann, is_done};
use crate::support::{bash, until};

/// Asks the agent `careful` to run a command, and returns the approval request in the chat.
async fn ask(bot: &ChatBot, person: &Person, command: &str) -> ShownMessage {
    bot.telegram.write(person.says("/agent careful"));
    bot.telegram
        .wait_for(person.id, |it| it.text.contains("the agent careful"))
        .await;
    bot.telegram.write(person.says(&bash(command)));
    bot.telegram
        .wait_for(person.id, |it| !it.buttons.is_empty())
        .await
}

async fn ended(bot: &ChatBot, chat: i64, message: i64, outcome: &str) -> ShownMessage {
    let is_ended = |it: &ShownMessage| it.id == message && it.text.contains(outcome);
    let message = bot.telegram.wait_for(chat, is_ended).await;
    assert!(message.buttons.is_empty(), "{message:#?}");
    message
}

#[tokio::test]
async fn a_call_runs_when_it_is_allowed() {
    let bot = ChatBot::start().await;
    let ann = ann(7);
    let question = ask(&bot, &ann, "echo <b>did</b> it").await;
    assert!(
        question
            .text
            .starts_with("✋ May I run shell.exec?\necho <b>did</b> it\nTime left: 24 h."),
        "{question:#?}"
    );
    bot.telegram.tap(&ann, 7, question.id, "Allow");
    let message = ended(&bot, 7, question.id, "✅ Allowed: Ann (7), in Telegram").await;
    assert!(message.text.contains("echo <b>did</b> it"));
    bot.telegram.wait_for(7, is_done).await;
    bot.settled(7).await;
    assert_eq!(bot.telegram.violations(), [""; 0]);
    let tap = bot.telegram.wait_for_call("answerCallbackQuery", 0).await;
    assert_eq!(tap["text"], "Allowed");
    // The second tap of the button did nothing.
    assert_eq!(bot.jobs(7).await.len(), 1);
}

#[tokio::test]
async fn a_denial_has_a_reason_that_the_model_gets() {
    let bot = ChatBot::start().await;
    let ann = ann(7);
    let question = ask(&bot, &ann, "rm -rf build").await;
    bot.telegram.tap(&ann, 7, question.id, "because");
    let why = bot.telegram.wait_for(7, |it| it.forces_reply).await;
    assert_eq!(why.reply_to, Some(question.id));
    bot.telegram
        .write(ann.says("Only build/tmp, <please>").replying_to(why.id));
    ended(&bot, 7, question.id, "⛔ Denied: Only build/tmp, <please>").await;
    bot.settled(7).await;
    let job = bot.jobs(7).await.remove(0);
    let (_, approvals) = bot
        .service
        .get(&format!(
            "/v1/jobs/{}/approvals",
            job["id"].as_str().unwrap()
        ))
        .await;
    assert_eq!(approvals["data"][0]["reason"], "Only build/tmp, <please>");
    assert_eq!(bot.jobs(7).await.len(), 1, "the reason is no job");
}

#[tokio::test]
async fn only_approvers_decide_and_only_in_their_chat() {
    let bot = ChatBot::with(&[("SKILLET_TELEGRAM_APPROVERS", "8")]).await;
    let (ann, bob, eve) = (ann(7), Person::new(8, "Bob"), Person::new(666, "Eve"));
    let question = ask(&bot, &ann, "echo secret").await;
    for (number, person) in [&ann, &eve].into_iter().enumerate() {
        for label in ["Allow", "because"] {
            bot.telegram.tap(person, 7, question.id, label);
        }
        for tap in [2 * number, 2 * number + 1] {
            let answer = bot.telegram.wait_for_call("answerCallbackQuery", tap).await;
            assert_eq!(
                answer["text"],
                "You are not allowed to approve or deny this."
            );
        }
    }
    let job = &bot.jobs(7).await[0];
    assert_eq!(job["status"], "waiting");

    // Bob may approve in the group, but not a request from another chat: buttons can be forged.
    let addressed = format!("@skillet_bot {}", bash("true"));
    bot.telegram
        .write(bob.says("/agent@skillet_bot careful").in_chat(GROUP));
    bot.telegram
        .wait_for(GROUP, |it| it.text.contains("the agent careful"))
        .await;
    bot.telegram.write(bob.says(&addressed).in_chat(GROUP));
    let other = bot
        .telegram
        .wait_for(GROUP, |it| !it.buttons.is_empty())
        .await;
    let data = question.buttons[0][0].1.clone();
    bot.telegram.tap_with(&bob, GROUP, other.id, &data);
    let answer = bot.telegram.wait_for_call("answerCallbackQuery", 4).await;
    assert_eq!(
        answer["text"],
        "You are not allowed to approve or deny this."
    );
    bot.telegram.tap(&bob, GROUP, other.id, "Allow");
    ended(&bot, GROUP, other.id, "✅ Allowed: Bob (8), in Telegram").await;
    assert_eq!(bot.jobs(7).await[0]["status"], "waiting");
}

#[tokio::test]
async fn an_answer_from_elsewhere_counts_and_a_late_tap_says_so() {
    let bot = ChatBot::start().await;
    let ann = ann(7);
    let question = ask(&bot, &ann, "echo it").await;
    let buttons = question.buttons[0][1].1.clone();
    let job = bot.jobs(7).await.remove(0);
    let path = format!("/v1/jobs/{}/approvals", job["id"].as_str().unwrap());
    let (_, approvals) = bot.service.get(&path).await;
    let id = approvals["data"][0]["id"].as_str().unwrap();
    let answer = json!({"decision": "approve"});
    let (status, _) = bot
        .service
        .post(&format!("/v1/approvals/{id}"), &answer)
        .await;
    assert_eq!(status, 200);
    ended(&bot, 7, question.id, "✅ Allowed (key test)").await;
    bot.telegram.tap_with(&ann, 7, question.id, &buttons);
    let late = bot.telegram.wait_for_call("answerCallbackQuery", 0).await;
    let text = late["text"].as_str().unwrap();
    assert!(text.contains("it was already approved"), "{text}");
    bot.settled(7).await;
}

#[tokio::test]
async fn an_approval_that_expires_or_whose_job_is_cancelled_loses_its_buttons() {
    let bot = ChatBot::start().await;
    let (first, second) = (ann(7), ann(8));
    let question = ask(&bot, &first, "echo it").await;
    let expire = "update approval set expires_at = now() where status = 'pending'";
    let expired = sqlx::query(expire)
        .execute(&bot.service.pool)
        .await
        .unwrap();
    assert_eq!(expired.rows_affected(), 1);
    sqlx::query("update run set run_at = now() where state = 'waiting'")
        .execute(&bot.service.pool)
        .await
        .unwrap();
    ended(&bot, 7, question.id, "⌛ Expired, so it was denied").await;

    let question = ask(&bot, &second, "echo it").await;
    bot.telegram.write(second.says("/cancel"));
    ended(&bot, 8, question.id, "⏹ The job has ended").await;
    bot.telegram
        .wait_for(8, |it| it.text.starts_with("⏹ Cancelled"))
        .await;
    bot.settled(8).await;
    until(async || bot.telegram.unconfirmed() == 0).await;
}
