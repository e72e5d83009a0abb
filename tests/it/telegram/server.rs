//! The test server of the Bot API, checked with an independent client.

use std::path::Path;
use std::process::Stdio;

use tests::bot_server::{BotServer, TOKEN};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use super::chat_bot::ann;
use crate::support::{has_program, is_all_required};

#[tokio::test]
async fn grammy_takes_the_server_for_telegram() {
    if !has_program("npm") || !has_program("node") {
        return;
    }
    let install = [
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ];
    let installed = command("npm").args(install).output().await.unwrap();
    if !installed.status.success() && !is_all_required() {
        eprintln!("left out: the client cannot be installed here");
        return;
    }
    assert!(installed.status.success(), "{installed:?}");
    let server = BotServer::start();
    let ann = ann(7);
    server.write(ann.says("Hello"));
    let mut client = command("node")
        .arg("check.mjs")
        .env("BOT_API_URL", server.url())
        .env("BOT_TOKEN", TOKEN)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
    let sent = lines
        .next_line()
        .await
        .unwrap()
        .expect("the client goes on");
    let message = sent.strip_prefix("sent ").unwrap().parse().unwrap();
    server.write(
        ann.says("A file")
            .with_file("document", "hello.txt", b"hello"),
    );
    server.tap(&ann, 7, message, "Yes");
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("ok"));
    assert!(client.wait().await.unwrap().success());
    let sent = server.sent(7);
    let file = sent[1].file.as_ref().unwrap();
    assert_eq!(
        (file.name.as_str(), file.content.as_slice()),
        ("copy.txt", b"HELLO".as_slice())
    );
    assert_eq!(
        (sent[0].text.as_str(), sent[1].text.as_str()),
        ("Done", "A file")
    );
    assert_eq!(server.unconfirmed(), 0);
}

fn command(program: &str) -> Command {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("bot_client");
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}
