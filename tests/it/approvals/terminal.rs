//! Approval prompts at the terminal.

use serde_json::json;
use tests::model_server::Reply;
use tokio::io::{AsyncBufReadExt, BufReader};

use super::{approve, confirmed, shell, waiting};
use crate::cli::at;
use crate::support::log::data;
use crate::support::{Service, Tty};

const QUESTION: &str = "approve? yes, no, or a reason to deny: ";

#[tokio::test]
async fn watch_asks_about_each_call_and_takes_yes_no_and_a_reason() {
    let service = Service::start().await;
    service.model.script(
        "desk",
        [
            Reply::text("Three.")
                .then_call("shell_exec", shell("echo \u{1b}[2Jone"))
                .then_call("shell_exec", shell("echo two"))
                .then_call("shell_exec", shell("echo three")),
            Reply::text("Done."),
        ],
    );
    let job = service.create(&confirmed("desk")).await;
    waiting(&service, &job).await;
    let mut tty = Tty::spawn(&at(&service), &["watch", &job]);
    tty.until_shown(QUESTION, 1).await;
    let shown = tty.shown();
    // Escape sequences in model output do not reach the terminal.
    assert!(shown.contains(r"command: echo \u{1b}[2Jone"), "{shown}");
    tty.type_line("");
    tty.until_shown("  yes, no, or a reason to deny: ", 1).await;
    tty.type_line("y");
    tty.until_shown(QUESTION, 2).await;
    tty.type_line("n");
    tty.until_shown(QUESTION, 3).await;
    tty.type_line("ask Ann first");
    assert_eq!(tty.ended().await, Some(0), "{}", tty.shown());
    assert!(tty.shown().contains("Done."), "{}", tty.shown());
    assert!(!tty.shown().contains("elsewhere"), "{}", tty.shown());
    let events = service.events(&job).await;
    let resolved = data(&events, "approval.resolved");
    let answers: Vec<_> = resolved
        .iter()
        .map(|it| (it["approved"].as_bool().unwrap(), it["reason"].as_str()))
        .collect();
    assert_eq!(
        answers,
        [(true, None), (false, None), (false, Some("ask Ann first"))]
    );
}

#[tokio::test]
async fn what_was_typed_before_the_question_is_no_answer_and_another_desk_may_be_faster() {
    let service = Service::start().await;
    service.model.script(
        "early",
        [
            Reply::call("shell_exec", shell("true")),
            Reply::stall().then_call("shell_exec", shell("true")),
            Reply::text("Done."),
        ],
    );
    let job = service.create(&confirmed("early")).await;
    let mut tty = Tty::spawn(&at(&service), &["watch", &job]);
    tty.until_shown(QUESTION, 1).await;
    tty.type_line("yes");
    service.model.stalled("early").await;
    tty.type_line("yes");
    service.model.release("early");
    tty.until_shown(QUESTION, 2).await;
    let asked = waiting(&service, &job).await;
    assert_eq!(asked.len(), 1, "nobody has answered the second");
    approve(&service, &asked[0]).await;
    tty.until_shown("(answered elsewhere)", 1).await;
    assert_eq!(tty.ended().await, Some(0), "{}", tty.shown());
}

#[tokio::test]
async fn where_nobody_types_the_commands_are_named_and_work() {
    let service = Service::start().await;
    service.model.script(
        "pipe",
        [
            Reply::text("Two.")
                .then_call("shell_exec", shell("echo one"))
                .then_call("shell_exec", shell("echo two")),
            Reply::text("Done."),
        ],
    );
    let terminal = at(&service);
    let job = service.create(&confirmed("pipe")).await;
    let asked = waiting(&service, &job).await;
    let [first, second] = [0, 1].map(|place| asked[place]["id"].as_str().unwrap());
    let mut watching = terminal.spawn(&["watch", &job]);
    let mut said = BufReader::new(watching.stderr.take().unwrap()).lines();
    let hint = format!("to answer: skillet approvals approve {first}");
    while !said.next_line().await.unwrap().unwrap().contains(&hint) {}

    let listed = terminal.run(&["approvals", "list"]).await;
    assert!(
        listed.out.contains(&format!("{first}\tpending\t"))
            && listed
                .out
                .contains("\tshell.exec\t{\"command\":\"echo one\"}\n"),
        "{listed:?}"
    );
    let shown = terminal.run(&["approvals", "get", first]).await;
    let question = "? shell.exec wants to run\n  command: echo one\n";
    assert!(shown.out.ends_with(question), "{shown:?}");
    let ran = terminal.run(&["approvals", "approve", first]).await;
    assert_eq!(ran.out, format!("approved {first}\n"), "{ran:?}");
    // Repeating the same answer changes nothing. A different answer is rejected.
    let again = terminal.run(&["approvals", "approve", first]).await;
    assert_eq!(again.out, format!("approved {first}\n"), "{again:?}");
    let other = terminal.run(&["approvals", "deny", first]).await;
    assert!(
        other.code == Some(1) && other.err.contains("it was already approved"),
        "{other:?}"
    );
    let ran = terminal
        .run(&["approvals", "deny", second, "--reason", "Enough."])
        .await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    while said.next_line().await.unwrap().is_some() {}
    assert_eq!(watching.wait().await.unwrap().code(), Some(0));
    let events = service.events(&job).await;
    assert_eq!(
        data(&events, "approval.resolved")[1]["reason"],
        json!("Enough.")
    );
}
