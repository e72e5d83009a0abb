//! Storing agents over HTTP.

use reqwest::Method;
use serde_json::{Value, json};
use shared::key::Scope;

use super::put;
use crate::support::problem::Problem;
use crate::support::{Service, create_key, send};

#[tokio::test]
async fn an_agent_is_given_back_as_it_was_put_with_what_it_did_not_say() {
    let service = Service::without_worker().await;
    let body = json!({
        "soul": "You are *patient*.",
        "model": "openai/gpt-5",
        "tools": ["file.read", "shell.exec"],
        "hooks": {"confirm": ["shell.*"], "log": ["file.*"]},
        "limits": {"max_iterations": 30},
        "instructions": "Say please.",
        "network": "github.com  secret:API_URL",
        "secrets": ["API_URL", "API_KEY?"]
    });
    let (status, made) = put(&service, "own-agent", &body).await;
    assert_eq!(status, 201);
    insta::assert_json_snapshot!(
        made,
        {".created_at" => "[time]", ".updated_at" => "[time]"},
        @r#"
    {
      "name": "own-agent",
      "version": 1,
      "soul": "You are *patient*.",
      "model": "openai/gpt-5",
      "tools": [
        "file.read",
        "shell.exec"
      ],
      "hooks": {
        "confirm": [
          "shell.*"
        ],
        "log": [
          "file.*"
        ],
        "silent": []
      },
      "limits": {
        "timeout_seconds": null,
        "max_iterations": 30,
        "max_tokens": null,
        "approval_timeout_seconds": null,
        "max_total_tokens": null,
        "max_cost_usd": null
      },
      "instructions": "Say please.",
      "network": "github.com secret:API_URL",
      "secrets": [
        "API_URL",
        "API_KEY?"
      ],
      "skills": [],
      "mcp_servers": [],
      "created_at": "[time]",
      "updated_at": "[time]"
    }
    "#
    );
    assert_eq!(
        service.get("/v1/agents/own-agent").await,
        (200.try_into().unwrap(), made)
    );

    let (_, least) = put(&service, "least", &json!({"soul": "I am."})).await;
    let general = [
        "shell.exec",
        "file.read",
        "file.write",
        "file.edit",
        "file.list",
        "look_at",
        "web.fetch",
    ];
    assert_eq!(least["tools"], json!(general));
    assert_eq!(
        (&least["model"], &least["network"]),
        (&Value::Null, &json!("none"))
    );
    let (_, idle) = put(&service, "idle", &json!({"soul": "I am.", "tools": []})).await;
    assert_eq!(idle["tools"], json!([]));
}

#[tokio::test]
async fn each_change_is_a_version_and_an_equal_body_is_none() {
    let service = Service::without_worker().await;
    let soul = |text: &str| json!({ "soul": text });
    put(&service, "a", &soul("one")).await;
    let (status, same) = put(&service, "a", &soul("one")).await;
    assert_eq!((status.as_u16(), &same["version"]), (200, &json!(1)));
    let (status, second) = put(&service, "a", &soul("two")).await;
    assert_eq!((status.as_u16(), &second["version"]), (200, &json!(2)));
    assert_eq!(second["created_at"], same["created_at"]);
    assert!(second["updated_at"].as_str() > same["updated_at"].as_str());

    assert_eq!(service.get("/v1/agents/a").await.1["soul"], "two");
    assert_eq!(service.get("/v1/agents/a?version=1").await.1["soul"], "one");
    let absent = service.request(Method::GET, "/v1/agents/a?version=3");
    assert_eq!(Problem::of(absent).await.kind(), (404, "not_found"));

    let delete = || service.request(Method::DELETE, "/v1/agents/a");
    assert_eq!(delete().send().await.unwrap().status(), 204);
    assert_eq!(Problem::of(delete()).await.kind(), (404, "not_found"));
    let gone = service.request(Method::GET, "/v1/agents/a");
    assert_eq!(Problem::of(gone).await.kind(), (404, "not_found"));
    assert_eq!(service.get("/v1/agents/a?version=2").await.1["soul"], "two");
    let (status, again) = put(&service, "a", &soul("two")).await;
    assert_eq!((status.as_u16(), &again["version"]), (201, &json!(3)));
    assert!(again["created_at"].as_str() > second["updated_at"].as_str());
}

#[tokio::test]
async fn of_many_puts_at_once_each_is_a_version() {
    let service = Service::without_worker().await;
    let puts = (0..10).map(|number| {
        let service = &service;
        async move { put(service, "a", &json!({ "soul": format!("soul {number}") })).await }
    });
    let answers = futures_util::future::join_all(puts).await;
    let mut versions: Vec<_> = answers
        .iter()
        .map(|(_, agent)| agent["version"].as_i64().unwrap())
        .collect();
    versions.sort_unstable();
    assert_eq!(versions, (1..=10).collect::<Vec<_>>());
    let made = answers.iter().filter(|(status, _)| *status == 201);
    assert_eq!(made.count(), 1);
}

#[tokio::test]
async fn every_tenant_has_the_default_agent_and_can_put_another_in_its_place() {
    let service = Service::without_worker().await;
    let (_, built_in) = service.get("/v1/agents/default").await;
    assert_eq!(
        (&built_in["version"], &built_in["created_at"]),
        (&json!(0), &Value::Null)
    );
    assert_eq!(service.get("/v1/agents").await.1["data"], json!([built_in]));
    let delete = || service.request(Method::DELETE, "/v1/agents/default");
    assert_eq!(Problem::of(delete()).await.kind(), (404, "not_found"));

    let (status, own) = put(&service, "default", &json!({"soul": "Ours."})).await;
    assert_eq!((status.as_u16(), &own["version"]), (201, &json!(1)));
    assert_eq!(service.get("/v1/agents").await.1["data"], json!([own]));
    assert_eq!(
        service.get("/v1/agents/default?version=0").await.1,
        built_in
    );
    assert_eq!(delete().send().await.unwrap().status(), 204);
    assert_eq!(service.get("/v1/agents/default").await.1, built_in);
}

#[tokio::test]
async fn agents_are_listed_by_name_a_page_at_a_time() {
    let service = Service::without_worker().await;
    for name in ["zebra", "ant", "fox"] {
        put(&service, name, &json!({"soul": "I am."})).await;
    }
    let mut names = Vec::new();
    let mut path = "/v1/agents?limit=1".to_owned();
    loop {
        let (_, page) = service.get(&path).await;
        names.push(page["data"][0]["name"].as_str().unwrap().to_owned());
        let Some(cursor) = page["next_cursor"].as_str() else {
            break;
        };
        path = format!("/v1/agents?limit=1&cursor={cursor}");
    }
    assert_eq!(names, ["ant", "default", "fox", "zebra"]);
}

#[tokio::test]
async fn a_tenant_sees_changes_and_runs_only_its_own() {
    let service = Service::without_worker().await;
    put(&service, "ours", &json!({"soul": "Ours."})).await;
    put(&service, "default", &json!({"soul": "Ours."})).await;
    let other = create_key(&service.pool, "other", &[Scope::Jobs]).await;
    let ask = |method, path: &str| service.anonymous(method, path).bearer_auth(&other);
    for method in [Method::GET, Method::DELETE] {
        let refused = Problem::of(ask(method, "/v1/agents/ours")).await;
        assert_eq!(refused.kind(), (404, "not_found"));
    }
    let (_, list) = send(ask(Method::GET, "/v1/agents")).await;
    assert_eq!(list["data"].as_array().unwrap().len(), 1);
    assert_eq!(list["data"][0]["version"], 0);
    let job = json!({"agent": "ours", "model": "script/bash", "prompt": "x"});
    let refused = Problem::of(ask(Method::POST, "/v1/jobs").json(&job)).await;
    assert_eq!(refused.errors()[0].0, "/agent");
    let theirs = ask(Method::PUT, "/v1/agents/ours").json(&json!({"soul": "Theirs."}));
    assert_eq!(theirs.send().await.unwrap().status(), 201);
    assert_eq!(service.get("/v1/agents/ours").await.1["soul"], "Ours.");

    let admin = create_key(&service.pool, "other", &[Scope::Admin]).await;
    let request = service
        .anonymous(Method::GET, "/v1/agents")
        .bearer_auth(&admin);
    assert_eq!(Problem::of(request).await.kind(), (403, "forbidden"));
}
