//! Access: users, groups and the pairing code.

use serde_json::json;
use tests::bot_server::Person;

use super::chat_bot::{ChatBot, GROUP, ann, is_done};
use crate::support::{bash, until};

#[tokio::test]
async fn others_get_their_id_and_nothing_else() {
    let bot = ChatBot::start().await;
    for (id, text) in (666..).zip(["echo hi", "/jobs", "/start GUESS", "/help"]) {
        bot.telegram.write(Person::new(id, "Eve").says(text));
        let answer = bot.telegram.wait_for(id, |_| true).await;
        assert_eq!(answer.text, format!("Your id is {id}."));
    }
    let eve = Person::new(666, "Eve");
    bot.telegram
        .write(eve.says("@skillet_bot hi").in_chat(-666));
    let answer = bot.telegram.wait_for(-666, |_| true).await;
    assert_eq!(answer.text, "The id of this group is -666.");
    assert!(bot.jobs(666).await.is_empty() && bot.jobs(-666).await.is_empty());
}

#[tokio::test]
async fn a_user_without_access_who_floods_the_bot_holds_up_nobody() {
    let bot = ChatBot::start().await;
    let eve = Person::new(666, "Eve");
    for _ in 0..30 {
        bot.telegram.write(eve.says("hi"));
    }
    bot.telegram.write(ann(7).says("/help"));
    bot.telegram.wait_for(7, |_| true).await;
    until(async || bot.telegram.unconfirmed() == 0).await;
    // A message per second is allowed, so 30 answers would take 30 seconds.
    let answers = bot.telegram.sent(666).len();
    assert!((1..30).contains(&answers), "{answers}");
    assert_eq!(bot.telegram.violations(), [""; 0]);
}

#[tokio::test]
async fn one_user_pairs_with_the_code_that_is_printed() {
    let bot = ChatBot::with(&[("SKILLET_TELEGRAM_ALLOW", "")]).await;
    let log = bot.log();
    let code = log
        .split("`/start ")
        .nth(1)
        .and_then(|rest| rest.split('`').next());
    let code = code.unwrap_or_else(|| panic!("{log}"));
    let (ann, eve) = (ann(7), Person::new(666, "Eve"));
    bot.telegram.write(ann.says(&format!("/start {code}")));
    let answer = bot.telegram.wait_for(7, |_| true).await;
    assert!(
        answer.text.contains("start it with --allow 7"),
        "{}",
        answer.text
    );
    bot.telegram.write(eve.says(&format!("/start {code}")));
    bot.telegram
        .wait_for(666, |it| it.text == "Your id is 666.")
        .await;
    bot.telegram.write(ann.says(&bash("echo hi")));
    bot.telegram.wait_for(7, is_done).await;
}

#[tokio::test]
async fn in_a_group_the_bot_answers_when_it_is_meant() {
    let bot = ChatBot::start().await;
    let ann = ann(7);
    let say = |text: &str| bot.telegram.write(ann.says(text).in_chat(GROUP));
    say("echo hi");
    say("/new");
    say("/jobs@another_bot");
    say("ask @skillet_bots");
    let joined = ann
        .says("")
        .in_chat(GROUP)
        .with(json!({"new_chat_members": [{"id": 9}]}));
    bot.telegram.write(joined);
    let asked = say(&format!("@skillet_bot {}", bash("echo hi")));
    let status = bot.telegram.wait_for(GROUP, is_done).await;
    assert_eq!(status.reply_to, Some(asked));
    bot.settled(GROUP).await;
    assert_eq!(bot.telegram.sent(GROUP).len(), 2);
    // A reply to the bot is addressed to it.
    bot.telegram.write(
        ann.says(&bash("echo again"))
            .in_chat(GROUP)
            .replying_to(status.id),
    );
    bot.telegram
        .wait_for(GROUP, |it| it.text.trim() == "again")
        .await;
    assert_eq!(bot.jobs(GROUP).await.len(), 2);
    assert_eq!(bot.telegram.violations(), [""; 0]);
}
