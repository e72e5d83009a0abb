//! `httpapi`: requests to a local server, without a shell that could bypass the restrictions.

use serde_json::{Value, json};
use tests::model_server::Reply;

use super::origin::{ANY, Origin};
use crate::support::Service;
use crate::support::log::data;
use crate::support::problem::Problem;

async fn service_that_reaches_it() -> Service {
    let mut service = Service::with_environment(&[("SKILLET_EGRESS_ALLOW", ANY)]).await;
    service.add_worker(&[]).await;
    service
}

/// Runs calls in one reply. Returns the result that the model receives for each call.
async fn told(
    service: &Service,
    marker: &str,
    hosts: Value,
    calls: &[(&str, Value)],
) -> Vec<Value> {
    let asks = calls
        .iter()
        .fold(Reply::text("I ask."), |reply, (tool, input)| {
            reply.then_call(tool, input.clone())
        });
    service.model.script(marker, [asks, Reply::text("Done.")]);
    let job = service
        .run(&json!({
            "skill": "httpapi", "model": "anthropic/claude-test", "prompt": format!("Ask. #{marker}"),
            "parameters": {"hosts": hosts},
        }))
        .await;
    assert_eq!(job["text"], "Done.", "{job:#}\n{}", service.logs());
    let events = service.events(job["id"].as_str().unwrap()).await;
    data(&events, "tool.completed")
        .into_iter()
        .cloned()
        .collect()
}

#[tokio::test]
async fn records_are_read_from_an_api_and_a_missing_one_is_an_answer_too() {
    let origin = Origin::start();
    origin.write(
        "orders.json",
        r#"{"data": [{"id": 7, "total": 1250}], "next": null}"#,
    );
    let service = service_that_reaches_it().await;
    let ask = |path: &str| {
        let url = format!("{}/{path}", origin.url);
        ("http_request", json!({"method": "GET", "url": url}))
    };
    let told = told(
        &service,
        "orders",
        json!([origin.url]),
        &[ask("orders.json"), ask("orders/8")],
    )
    .await;
    let answers: Vec<Value> = told
        .iter()
        .map(|call| serde_json::from_str(call["output"].as_str().unwrap()).unwrap())
        .collect();
    assert_eq!(
        (&answers[0]["status"], &answers[1]["status"]),
        (&json!(200), &json!(404))
    );
    assert!(answers[0].to_string().contains("1250"), "{}", answers[0]);
}

#[tokio::test]
async fn records_are_handed_over_as_a_file() {
    let service = service_that_reaches_it().await;
    let told = told(
        &service,
        "file",
        json!(["https://api.example"]),
        &[
            (
                "file_write",
                json!({"path": "orders.csv", "content": "id,total\n7,1250\n"}),
            ),
            ("set_output", json!({"path": "orders.csv"})),
        ],
    )
    .await;
    assert_eq!(
        [&told[0]["outcome"], &told[1]["outcome"]],
        ["ok", "ok"],
        "{told:#?}"
    );
}

#[tokio::test]
async fn it_has_no_shell_and_asks_no_other_host() {
    let origin = Origin::start();
    origin.write("orders.json", "never asked for");
    let service = service_that_reaches_it().await;
    let calls = [
        ("shell.exec", json!({"command": "id"})),
        ("shell_exec", json!({"command": "id"})),
        (
            "http_request",
            json!({"method": "GET", "url": format!("{}/orders.json", origin.url)}),
        ),
        (
            "http_request",
            json!({"method": "GET", "url": "http://169.254.169.254/latest/meta-data/"}),
        ),
    ];
    let told = told(&service, "others", json!(["https://api.example"]), &calls).await;
    assert_eq!(told.len(), 4);
    for call in &told {
        assert_eq!(call["outcome"], "error", "{call:#}");
        assert!(!call.to_string().contains("never asked for"), "{call:#}");
    }
    assert!(
        told[0]["output"]
            .as_str()
            .unwrap()
            .contains("there is no tool"),
        "{}",
        told[0]
    );
    assert!(
        told[2]["output"]
            .as_str()
            .unwrap()
            .contains("may reach api.example"),
        "{}",
        told[2]
    );

    let requests = service.model.requests("others");
    let tools: Vec<_> = requests[0]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    assert_eq!(
        tools,
        ["http_request", "file_read", "file_write", "set_output"]
    );
    let system = requests[0]["system"].to_string();
    assert!(!system.contains("Commands run in"), "{system}");
}

#[tokio::test]
async fn a_job_must_name_its_hosts() {
    let service = Service::without_worker().await;
    for parameters in [
        json!({}),
        json!({"hosts": []}),
        json!({"hosts": ["not a host"]}),
    ] {
        let job = json!({"skill": "httpapi", "model": "script/bash", "prompt": "Ask.", "parameters": parameters});
        let request = service
            .request(reqwest::Method::POST, "/v1/jobs")
            .json(&job);
        let problem = Problem::of(request).await;
        assert_eq!(problem.status, 422, "{parameters}");
        let pointer = problem.body["errors"][0]["pointer"].as_str().unwrap();
        assert!(pointer.starts_with("/parameters"), "{pointer}");
    }
}
