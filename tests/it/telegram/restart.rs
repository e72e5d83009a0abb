//! Processes that are killed at each step.

use std::collections::BTreeMap;
use std::pin::pin;

use rustix::process::Signal;
use tests::bot_server::{BotServer, ShownMessage};

use super::chat_bot::{ChatBot, PIXEL, ann, gated, is_done, is_running, making};
use crate::support::{TIMEOUT, bash, until};

/// The maximum number of steps.
const MAX_STEPS: usize = 30;

/// Runs a job with a file, an approval, a text and an image.
async fn play(telegram: &BotServer, chat: i64) {
    let person = ann(chat);
    let command = format!("cat in.txt; echo {PIXEL} | base64 -d > chart.png");
    let prompt = making(&command, "chart.png");
    telegram.write(
        person
            .says(&prompt)
            .with_file("document", "in.txt", b"the text"),
    );
    let question = telegram.wait_for(chat, |it| !it.buttons.is_empty()).await;
    telegram.tap(&person, chat, question.id, "Allow");
    telegram.wait_for(chat, |it| it.file.is_some()).await;
}

/// Returns the number of messages of a chat by kind.
fn kinds(messages: &[ShownMessage]) -> BTreeMap<&'static str, usize> {
    let mut kinds = BTreeMap::new();
    for message in messages {
        let kind = match message {
            it if it.file.is_some() => "picture",
            it if it.text.contains("✅ Allowed") => "approval",
            it if is_done(it) => "status",
            it if it.text.trim() == "the text" => "text",
            _ => "other",
        };
        *kinds.entry(kind).or_default() += 1;
    }
    kinds
}

/// Kills the process at each call that changes the chat, before or after the call has an effect.
async fn kill_at_each_step(has_effect: bool) {
    let mut bot = ChatBot::with(&[("SKILLET_TELEGRAM_AGENT", "careful")]).await;
    let expected = BTreeMap::from([("approval", 1), ("picture", 1), ("status", 1), ("text", 1)]);
    for step in 0..MAX_STEPS {
        let chat = 10 + i64::try_from(step).unwrap();
        bot.telegram.freeze_at(step, has_effect);
        let is_killed = {
            let ChatBot {
                telegram, process, ..
            } = &mut bot;
            let mut play = pin!(play(telegram, chat));
            let frozen = until(async || telegram.is_frozen());
            tokio::select! {
                () = &mut play => false,
                () = frozen => {
                    process.kill();
                    true
                }
            };
            let is_killed = telegram.is_frozen();
            if !is_killed {
                telegram.thaw();
            }
            is_killed
        };
        bot.telegram.thaw();
        if is_killed {
            bot.restart();
            finish(&bot, chat).await;
        }
        bot.settled(chat).await;
        assert_eq!(bot.jobs(chat).await.len(), 1, "step {step}");
        let sent = bot.telegram.sent(chat);
        let kinds = kinds(&sent);
        if has_effect {
            // Telegram cannot tell whether it accepted the message in progress, so the message may be sent again.
            for (kind, count) in &expected {
                assert!(kinds.get(kind) >= Some(count), "step {step}: {sent:#?}");
            }
            assert!(sent.len() <= 5, "step {step}: {sent:#?}");
        } else {
            assert_eq!(kinds, expected, "step {step}: {sent:#?}");
        }
        if !is_killed {
            assert!(step >= 6, "only {step} steps were met");
            return;
        }
    }
    panic!("the conversation has more than {MAX_STEPS} steps");
}

/// Continues the conversation at the point where it was cut.
async fn finish(bot: &ChatBot, chat: i64) {
    let telegram = &bot.telegram;
    let is_next = |it: &ShownMessage| !it.buttons.is_empty() || it.file.is_some() || is_done(it);
    let next = telegram.wait_for(chat, is_next).await;
    // The button may have been tapped before.
    if !next.buttons.is_empty() {
        telegram.tap(&ann(chat), chat, next.id, "Allow");
    }
    telegram.wait_for(chat, |it| it.file.is_some()).await;
}

#[tokio::test]
async fn a_process_that_is_killed_before_a_call_does_nothing_twice_and_loses_nothing() {
    kill_at_each_step(false).await;
}

#[tokio::test]
async fn a_process_that_is_killed_after_a_call_loses_nothing() {
    kill_at_each_step(true).await;
}

#[tokio::test]
async fn a_job_that_ends_while_no_process_runs_is_delivered_by_the_next() {
    let mut bot = ChatBot::start().await;
    bot.telegram.write(ann(7).says(&gated("echo late")));
    bot.telegram.wait_for(7, is_running).await;
    bot.process.kill();
    let job = bot.jobs(7).await[0]["id"].as_str().unwrap().to_owned();
    bot.open_gates(7).await;
    bot.service.finished(&job).await;
    // This message is sent while no process runs.
    bot.telegram.write(ann(8).says(&bash("echo hello")));
    assert!(bot.telegram.sent(8).is_empty());
    bot.restart();
    bot.telegram
        .wait_for(7, |it| it.text.trim() == "late")
        .await;
    bot.telegram
        .wait_for(8, |it| it.text.trim() == "hello")
        .await;
    bot.settled(7).await;
    assert_eq!(bot.telegram.sent(7).len(), 2);
}

#[tokio::test]
async fn a_file_that_the_service_has_lost_holds_up_no_later_message() {
    let mut bot = ChatBot::start().await;
    let command = gated("echo 1 > a.txt; echo 2 > b.txt");
    let prompt = format!("{command}\noutput: a.txt\noutput: b.txt");
    bot.telegram.write(ann(7).says(&prompt));
    bot.telegram.wait_for(7, is_running).await;
    bot.process.kill();
    bot.open_gates(7).await;
    let job = bot.jobs(7).await.remove(0);
    let lost = &job["outputs"][0]["asset"];
    std::fs::remove_file(bot.service.blob(&lost["sha256"])).unwrap();
    bot.restart();
    bot.settled(7).await;
    let sent = bot.telegram.sent(7);
    let note = "📎 a.txt, 2 B: The service no longer has this file.";
    assert!(sent.iter().any(|it| it.text == note), "{sent:#?}");
    let file = sent.last().unwrap().file.as_ref().expect("the other file");
    assert_eq!(file.name, "b.txt");
}

#[tokio::test]
async fn a_stopped_process_completes_what_it_has_begun_and_nothing_comes_twice() {
    let mut bot = ChatBot::start().await;
    for round in 0..4_i64 {
        let chat = 20 + round;
        bot.telegram
            .write(ann(chat).says(&making("echo hi | tee a.txt", "a.txt")));
        let met = usize::try_from(round).unwrap() % 3;
        until(async || bot.telegram.sent(chat).len() >= met).await;
        bot.process.signal(Signal::TERM);
        let status = bot.process.end_within(TIMEOUT).await.expect("it ends");
        assert!(status.success(), "{}", bot.log());
        bot.restart();
        bot.telegram.wait_for(chat, |it| it.file.is_some()).await;
        bot.settled(chat).await;
        let sent = bot.telegram.sent(chat);
        let count =
            |is_it: &dyn Fn(&ShownMessage) -> bool| sent.iter().filter(|it| is_it(it)).count();
        let counts = [
            count(&|it| it.file.is_some()),
            count(&|it| it.text.trim() == "hi"),
        ];
        assert_eq!(counts, [1, 1], "{sent:#?}");
        // A job that ends before its progress is shown needs no progress message.
        let statuses = count(&is_done);
        assert!(statuses <= 1 && sent.len() == 2 + statuses, "{sent:#?}");
        assert_eq!(bot.jobs(chat).await.len(), 1);
    }
}

#[tokio::test]
async fn a_service_that_cannot_save_for_a_while_causes_no_repeated_message() {
    let bot = ChatBot::start().await;
    bot.telegram.write(ann(7).says(&gated("echo done")));
    bot.telegram.wait_for(7, is_running).await;
    let refuse = "create function refuse() returns trigger language plpgsql as $$
        begin raise exception 'refused'; end
        $$;
        create trigger refuse before update of metadata on job for each row execute function refuse()";
    sqlx::raw_sql(refuse)
        .execute(&bot.service.pool)
        .await
        .unwrap();
    bot.open_gates(7).await;
    let failures = |bot: &ChatBot| bot.log().matches("cannot save the record of a job").count();
    until(async || failures(&bot) >= 3).await;
    let accept = "drop trigger refuse on job";
    sqlx::raw_sql(accept)
        .execute(&bot.service.pool)
        .await
        .unwrap();
    bot.settled(7).await;
    let sent = bot.telegram.sent(7);
    assert_eq!(sent.len(), 2, "{sent:#?}");
    assert!(is_done(&sent[0]) && sent[1].text.trim() == "done");
}

#[tokio::test]
async fn a_restart_of_the_service_goes_unnoticed() {
    let mut bot = ChatBot::start().await;
    bot.telegram.write(ann(7).says(&gated("echo survived")));
    bot.telegram.wait_for(7, is_running).await;
    bot.service.api.kill();
    bot.telegram.write(ann(8).says(&bash("echo patient")));
    bot.service.restart_api();
    bot.open_gates(7).await;
    bot.telegram
        .wait_for(7, |it| it.text.trim() == "survived")
        .await;
    bot.telegram
        .wait_for(8, |it| it.text.trim() == "patient")
        .await;
    bot.settled(8).await;
    assert_eq!((bot.jobs(7).await.len(), bot.jobs(8).await.len()), (1, 1));
    assert_eq!(bot.telegram.sent(8).len(), 2);
}
