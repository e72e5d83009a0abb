//! The images of docs/telegram.md, drawn from conversations with the bot.

use std::path::Path;

use serde_json::json;
use tests::bot_server::ShownMessage;
use tests::model_server::Reply;

use super::chat_bot::{ChatBot, PIXEL, ann};
use super::drawing::draw;

const MODEL: &str = "anthropic/claude-test";

/// Compares an image of the documentation with a conversation, or writes it with `SKILLET_UPDATE=1`.
fn compare(name: &str, messages: &[ShownMessage]) {
    let drawn = draw(messages);
    let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/images");
    let path = images.join(name);
    if std::env::var("SKILLET_UPDATE").is_ok_and(|value| value == "1") {
        std::fs::write(&path, &drawn).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap() == drawn,
        "docs/images/{name} is not what a chat shows. If the change is meant: SKILLET_UPDATE=1 cargo test -p tests \
         --test it telegram::picture"
    );
}

#[tokio::test]
async fn the_picture_of_a_job_is_what_a_chat_shows() {
    let bot = ChatBot::with(&[("SKILLET_TELEGRAM_MODEL", MODEL)]).await;
    let command = format!("sort -t, -k2 -n sales.csv\necho {PIXEL} | base64 -d > chart.png");
    let answer = "The best month was **March** with 310.\n\n| Month | Sales |\n|---|---|\n| January | 120 |\n| February | \
                  90 |\n| March | 310 |\n\nThe chart shows all three.";
    bot.service.model.script(
        "sales",
        [
            Reply::call("shell.exec", json!({"command": command})),
            Reply::call("set_output", json!({"path": "chart.png"})),
            Reply::text(answer),
        ],
    );
    let sales = b"January,120\nFebruary,90\nMarch,310\n";
    let message = ann(7).says("Which month was the best? Draw a chart. #sales");
    bot.telegram
        .write(message.with_file("document", "sales.csv", sales));
    bot.telegram.wait_for(7, |it| it.file.is_some()).await;
    bot.settled(7).await;
    compare("telegram-job.svg", &bot.telegram.messages(7));
}

#[tokio::test]
async fn the_picture_of_an_approval_is_what_a_chat_shows() {
    let variables = [
        ("SKILLET_TELEGRAM_MODEL", MODEL),
        ("SKILLET_TELEGRAM_AGENT", "careful"),
    ];
    let bot = ChatBot::with(&variables).await;
    bot.service.model.script(
        "clean",
        [
            Reply::call("shell.exec", json!({"command": "rm -rf build"})),
            Reply::call("shell.exec", json!({"command": "rm -rf build/tmp"})),
            Reply::text("Done."),
        ],
    );
    let ann = ann(7);
    bot.telegram.write(ann.says("Free some space. #clean"));
    let question = bot.telegram.wait_for(7, |it| !it.buttons.is_empty()).await;
    bot.telegram.tap(&ann, 7, question.id, "because");
    let why = bot.telegram.wait_for(7, |it| it.forces_reply).await;
    bot.telegram
        .write(ann.says("Only build/tmp, please.").replying_to(why.id));
    let is_second = |it: &ShownMessage| it.text.contains("build/tmp") && !it.buttons.is_empty();
    bot.telegram.wait_for(7, is_second).await;
    let is_waiting = |it: &ShownMessage| it.text.starts_with("⏳ Waiting for approval\n");
    bot.telegram.wait_for(7, is_waiting).await;
    compare("telegram-approval.svg", &bot.telegram.messages(7));
}
