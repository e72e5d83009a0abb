//! Conversations over HTTP.

use reqwest::Method;
use serde_json::{Value, json};
use shared::key::Scope;
use tests::model_server::Reply;

use super::{CLAUDE, begin, messages, next};
use crate::support::problem::Problem;
use crate::support::{Service, bash, create_key, send};

#[tokio::test]
async fn a_conversation_is_begun_and_shows_what_was_said_in_it() {
    let service = Service::start().await;
    let body = json!({"metadata": {"ticket": 7}});
    let response = service
        .request(Method::POST, "/v1/conversations")
        .json(&body);
    let response = response.send().await.unwrap();
    assert_eq!(response.status(), 201);
    let location = response.headers()["location"].to_str().unwrap().to_owned();
    let made: Value = response.json().await.unwrap();
    assert_eq!(
        (&made["agent"], &made["metadata"]),
        (&json!("default"), &json!({"ticket": 7}))
    );
    assert_eq!(
        location,
        format!("/v1/conversations/{}", made["id"].as_str().unwrap())
    );
    let (_, empty) = service.get(&location).await;
    assert_eq!(empty["messages"], json!({"data": [], "next_cursor": null}));
    assert_eq!(empty["title"], Value::Null);

    let id = made["id"].as_str().unwrap();
    let script = [
        Reply::text("I look.").then_call("shell_exec", json!({"command": "echo hi"})),
        Reply::text("Hi."),
        Reply::text("Again hi."),
    ];
    service.model.script("said", script);
    let first = service.run(&next(id, CLAUDE, "Say hi. #said")).await;
    let second = service.run(&next(id, CLAUDE, "Again.")).await;
    assert_eq!(
        (&first["conversation_id"], &second["text"]),
        (&made["id"], &json!("Again hi.")),
        "{second:#}\n{}",
        service.logs()
    );

    let said = messages(&service, id).await;
    let roles: Vec<_> = said
        .iter()
        .map(|message| message["said"]["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        [
            "user",
            "assistant",
            "tool",
            "assistant",
            "user",
            "assistant"
        ]
    );
    assert_eq!(
        (&said[0]["said"]["text"], &said[0]["seq"]),
        (&json!("Say hi. #said"), &json!(0))
    );
    assert_eq!(
        said[1]["said"]["content"][1]["call_id"],
        said[2]["said"]["call_id"]
    );
    assert!(said[2]["said"]["output"].as_str().unwrap().contains("hi"));
    for (number, message) in said.iter().enumerate() {
        let job = if number < 4 { &first } else { &second };
        assert_eq!(message["job_id"], job["id"]);
    }
    let mut paged = Vec::new();
    let mut path = format!("{location}?limit=4");
    loop {
        let (_, page) = service.get(&path).await;
        paged.extend(page["messages"]["data"].as_array().unwrap().clone());
        let Some(cursor) = page["messages"]["next_cursor"].as_str() else {
            break;
        };
        path = format!("{location}?limit=4&cursor={cursor}");
    }
    assert_eq!(paged, said);
    let (_, jobs) = service.get(&format!("/v1/jobs?conversation_id={id}")).await;
    assert_eq!(jobs["data"], json!([second, first]));
    let (_, listed) = service.get("/v1/conversations").await;
    assert_eq!(listed["data"][0]["title"], json!("Say hi. #said"));
    let mut titled = next(id, "script/bash", "```bash\ntrue\n```");
    titled["title"] = json!("A title");
    service.run(&titled).await;
    let (_, shown) = service.get(&location).await;
    assert_eq!(shown["title"], json!("Say hi. #said"));
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_tenant_sees_and_continues_only_its_own() {
    let service = Service::without_worker().await;
    let first = begin(&service, "default").await;
    let second = begin(&service, "default").await;
    let (_, page) = service.get("/v1/conversations?limit=1").await;
    assert_eq!(page["data"][0]["id"], json!(second));
    let cursor = page["next_cursor"].as_str().unwrap();
    let (_, page) = service
        .get(&format!("/v1/conversations?cursor={cursor}"))
        .await;
    assert_eq!(
        (
            &page["data"][0]["id"],
            page["data"].as_array().unwrap().len()
        ),
        (&json!(first), 1)
    );

    let other = create_key(&service.pool, "other", &[Scope::Jobs]).await;
    let ask = |method, path: &str| service.anonymous(method, path).bearer_auth(&other);
    let path = format!("/v1/conversations/{first}");
    for method in [Method::GET, Method::DELETE] {
        assert_eq!(
            Problem::of(ask(method, &path)).await.kind(),
            (404, "not_found")
        );
    }
    let (_, list) = send(ask(Method::GET, "/v1/conversations")).await;
    assert_eq!(list["data"], json!([]));
    let job = ask(Method::POST, "/v1/jobs").json(&next(&first, "script/bash", "x"));
    let refused = Problem::of(job).await;
    assert_eq!(
        refused.errors(),
        [(
            "/conversation_id",
            "there is no such conversation; POST /v1/conversations creates one"
        )]
    );
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let service = Service::without_worker().await;
    let own = json!({"soul": "I am."});
    let put = service.request(Method::PUT, "/v1/agents/own").json(&own);
    assert_eq!(put.send().await.unwrap().status(), 201);
    for (body, pointer) in [
        (json!({"agent": "none"}), "/agent"),
        (json!({"agent": "A\u{0}"}), "/agent"),
        (json!({"agents": "own"}), "/agents"),
        (json!({"metadata": {"a": "x".repeat(20_000)}}), "/metadata"),
    ] {
        let request = service
            .request(Method::POST, "/v1/conversations")
            .json(&body);
        assert_eq!(Problem::of(request).await.errors()[0].0, pointer);
    }
    let conversation = begin(&service, "own").await;
    for (body, words) in [
        (
            json!({"agent": "default"}),
            "this conversation is with the agent `own`",
        ),
        (
            json!({"skill": "shell"}),
            "only a job with an agent can continue a conversation",
        ),
    ] {
        let mut body = body;
        body["conversation_id"] = json!(conversation);
        body["prompt"] = json!("x");
        body["model"] = json!("script/bash");
        let request = service.request(Method::POST, "/v1/jobs").json(&body);
        assert_eq!(
            Problem::of(request).await.errors(),
            [("/conversation_id", words)]
        );
    }
    for cursor in ["x", "MQ", "MS4y4pyT"] {
        let path = format!("/v1/conversations/{conversation}?cursor={cursor}");
        let refused = Problem::of(service.request(Method::GET, &path)).await;
        assert_eq!(refused.kind(), (400, "malformed_request"), "{cursor}");
    }
}

#[tokio::test]
async fn a_deleted_conversation_leaves_its_jobs_and_takes_its_files() {
    let mut service = Service::without_worker().await;
    let agent = json!({"soul": "I am.", "tools": ["shell.exec"]});
    let put = service.request(Method::PUT, "/v1/agents/sh").json(&agent);
    assert_eq!(put.send().await.unwrap().status(), 201);
    let conversation = begin(&service, "sh").await;
    let path = format!("/v1/conversations/{conversation}");
    let body = json!({"agent": "sh", "conversation_id": conversation, "model": "script/bash", "prompt": bash("echo x > a.txt")});
    let job = service.create(&body).await;
    let busy = Problem::of(service.request(Method::DELETE, &path)).await;
    assert_eq!(busy.kind(), (409, "conversation_busy"));

    service.add_worker(&[]).await;
    service.finished(&job).await;
    let delete = || service.request(Method::DELETE, &path);
    let scratch = service.home.path().join("assets/workspaces").join(&job);
    assert!(
        scratch.exists(),
        "the next job begins with the files of this one"
    );
    assert_eq!(delete().send().await.unwrap().status(), 204);
    let left = std::fs::read_dir(&scratch).map_or(0, Iterator::count);
    assert_eq!(left, 0);
    assert_eq!(Problem::of(delete()).await.kind(), (404, "not_found"));
    let (_, job) = service.get(&format!("/v1/jobs/{job}")).await;
    assert_eq!(
        (&job["status"], &job["conversation_id"]),
        (&json!("completed"), &Value::Null)
    );
}
