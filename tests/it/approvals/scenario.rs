//! Approvals combined with other features.
//!
//! An archive, a web page, a person at the terminal, a crashed worker, and a second job that refers to the first.

use std::time::Duration;

use actix_web::{App, HttpResponse, HttpServer, web};
use serde_json::{Value, json};
use tests::model_server::Reply;

use super::{CLAUDE, shell, waiting};
use crate::cli::at;
use crate::support::log::{assert_whole, data};
use crate::support::{Service, Tty, until};

const GPT: &str = "openai/gpt-test";
const QUESTION: &str = "approve? yes, no, or a reason to deny: ";

/// Starts a web server with a page, and returns its URL.
fn page() -> String {
    let page = || async {
        HttpResponse::Ok()
            .content_type("text/html")
            .body("<h1>Prices</h1><p>Tea costs <b>7</b> now.</p>")
    };
    let server = HttpServer::new(move || App::new().route("/prices", web::get().to(page)))
        .workers(1)
        .bind(("127.0.0.1", 0))
        .unwrap();
    let port = server.addrs()[0].port();
    tokio::spawn(server.run());
    format!("http://127.0.0.1:{port}/prices")
}

/// Uploads an archive that contains a price list.
async fn archive(service: &Service) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let shop = folder.path().join("shop");
    std::fs::create_dir(&shop).unwrap();
    std::fs::write(shop.join("prices.csv"), "tea,5\nmilk,2\n").unwrap();
    let packed = std::process::Command::new("tar")
        .args(["-czf", "-", "shop"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(packed.status.success());
    service.upload("shop.tar.gz", packed.stdout).await
}

async fn a_job_in_which_everything_happens(model: &str) {
    let mut service = Service::without_worker().await;
    service.add_worker(&[]).await;
    let url = page();
    let edit = json!({"path": "shop/prices.csv", "old_string": "tea,5", "new_string": "tea,7"});
    let sum = shell("awk -F, '{s+=$2} END {print \"sum\", s}' shop/prices.csv");
    service
        .model
        // The prompt lists files of earlier jobs by name only.
        .script_conversation("shop", move |request| match request.turn() {
            0 => Reply::text("I unpack it.").then_call("shell_exec", shell("tar -xzf shop.tar.gz")),
            1 => Reply::call("web_fetch", json!({ "url": url })),
            2 => Reply::text("Tea is dearer.").then_call("file_edit", edit.clone()),
            3 => Reply::call("shell_exec", sum.clone()),
            4 => Reply::text("Tea is 7; together it is 9."),
            5 => Reply::call("file_read", json!({"path": "shop/prices.csv"})),
            _ => Reply::text("As I said: tea is 7."),
        });
    let (_, conversation) = service
        .post("/v1/conversations", &json!({"agent": "default"}))
        .await;
    let asset = archive(&service).await;
    let body = json!({
        "agent": "default", "model": model, "conversation_id": conversation["id"],
        "prompt": "Bring the prices up to date. #shop", "inputs": [{"asset_id": asset["id"]}],
        "hooks": {"confirm": ["shell.*"]},
    });
    let job = service.create(&body).await;
    let mut tty = Tty::spawn(&at(&service), &["watch", &job]);
    tty.until_shown(QUESTION, 1).await;
    tty.type_line("y");
    // The second shell call waits. Its worker is killed between two turns and replaced.
    tty.until_shown(QUESTION, 2).await;
    waiting(&service, &job).await;
    service.workers[0].kill();
    tty.type_line("yes");
    service.add_worker(&[]).await;
    assert_eq!(tty.ended().await, Some(0), "{}", tty.shown());
    let ended = service.finished(&job).await;
    assert_eq!(
        ended["text"],
        "Tea is 7; together it is 9.",
        "{ended:#}\n{}",
        service.logs()
    );
    let events = service.events(&job).await;
    assert_whole(&events);
    let results = data(&events, "tool.completed");
    let outcomes: Vec<_> = results
        .iter()
        .map(|it| it["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["ok"; 4], "{results:#?}");
    let output = |place: usize| results[place]["output"].as_str().unwrap();
    assert!(output(1).contains("Tea costs 7 now."), "{}", output(1));
    assert!(output(3).contains("sum 9"), "{}", output(3));

    // The second job knows the conversation and finds the files of the first one.
    let body = json!({
        "agent": "default", "model": model, "conversation_id": conversation["id"],
        "prompt": "What was the price of tea?",
    });
    let ended = service.run(&body).await;
    assert_eq!(ended["text"], "As I said: tea is 7.", "{ended:#}");
    let second = service.events(ended["id"].as_str().unwrap()).await;
    assert!(
        data(&second, "tool.completed")[0]["output"]
            .as_str()
            .unwrap()
            .contains("tea,7")
    );
    let requests = service.model.requests("shop");
    let request = requests.last().unwrap().body.to_string();
    for said in [
        "Bring the prices up to date",
        "Tea costs 7 now.",
        "together it is 9",
    ] {
        assert!(request.contains(said), "{said}");
    }
    assert_eq!(requests.len(), 7, "no turn was asked twice");
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn with_anthropics_wire() {
    a_job_in_which_everything_happens(CLAUDE).await;
}

#[tokio::test]
async fn with_openais_wire() {
    a_job_in_which_everything_happens(GPT).await;
}

#[tokio::test]
async fn a_worker_that_dies_in_the_middle_of_a_turn_costs_no_finished_one() {
    let mut service = Service::start().await;
    // The script replies by turn, because a reply in progress when the worker dies is requested again.
    service
        .model
        .script_with("middle", |request| match request.turn() {
            0 => Reply::call("file_write", json!({"path": "a.txt", "content": "one\n"})),
            // The delay leaves time to kill the worker.
            1 => Reply::call("shell_exec", shell("cat a.txt")).delay(Duration::from_secs(2)),
            _ => Reply::text("It says one."),
        });
    let mut body = super::confirmed("middle");
    body["hooks"] = json!({"confirm": ["file.*"]});
    let job = service.create(&body).await;
    super::approve(&service, &waiting(&service, &job).await[0]).await;
    until(async || {
        let events = service.events(&job).await;
        data(&events, "workspace.saved").len() == 1
    })
    .await;
    service.workers[0].kill();
    service.add_worker(&[]).await;
    let ended = service.finished(&job).await;
    assert_eq!(ended["text"], "It says one.", "{ended:#}");
    let events = service.events(&job).await;
    assert_eq!(data(&events, "approval.requested").len(), 1);
    assert_eq!(data(&events, "message.completed").len(), 3);
    assert_eq!(service.model.violations(), [""; 0]);
}
