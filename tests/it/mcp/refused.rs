//! Invalid MCP settings, and the stored form of valid ones.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::Service;
use crate::support::problem::Problem;

async fn refused(service: &Service, servers: Value) -> Problem {
    let body = json!({"soul": "I am.", "secrets": ["KEY"], "mcp_servers": servers});
    Problem::of(service.request(Method::PUT, "/v1/agents/a").json(&body)).await
}

#[tokio::test]
async fn all_that_is_wrong_is_said_with_its_place() {
    let service = Service::without_worker().await;
    let problem = refused(
        &service,
        json!([
            {"name": "one", "command": ["a"], "env": {"A": "{{secret:OTHER}}"}},
            {"name": "one", "url": "https://user:word@example.com", "headers": {"host": "x"}},
            {"name": "Two", "command": ["a"], "url": "https://example.com", "timeout_seconds": 601},
            {"name": "one", "url": "https://example.com", "headers": {"A": "{{secret:KEY}} {{secret:NONE}}"}},
        ]),
    )
    .await;
    assert_eq!(problem.kind(), (422, "invalid_request"));
    insta::assert_debug_snapshot!(problem.errors(), @r#"
    [
        (
            "/mcp_servers/0/env/A",
            "`OTHER` is not one of the secrets: declare it in `secrets`",
        ),
        (
            "/mcp_servers/1/headers/host",
            "cannot be set: it belongs to the connection",
        ),
        (
            "/mcp_servers/1/url",
            "must not contain credentials: put them into a header, as a secret",
        ),
        (
            "/mcp_servers/2/name",
            "must be 1 to 32 lower-case letters, digits, `-` and `_`, and begin with a letter or a digit",
        ),
        (
            "/mcp_servers/2/timeout_seconds",
            "must be a whole number from 1 to 600",
        ),
        (
            "/mcp_servers/2",
            "needs exactly one of `command` and `url`",
        ),
        (
            "/mcp_servers/3/name",
            "is a duplicate",
        ),
        (
            "/mcp_servers/3/headers/A",
            "`NONE` is not one of the secrets: declare it in `secrets`",
        ),
    ]
    "#);

    let many: Vec<_> = (0..9)
        .map(|n| json!({"name": format!("s{n}"), "command": ["a"]}))
        .collect();
    let problem = refused(&service, json!(many)).await;
    assert_eq!(
        problem.errors(),
        [("/mcp_servers", "must have at most 8 servers")]
    );
    let problem = refused(&service, json!([{"name": "a", "comand": ["b"]}])).await;
    assert_eq!(problem.errors()[0].0, "/mcp_servers/0/comand");
}

#[tokio::test]
async fn a_server_is_given_back_as_it_was_put_and_hooks_may_name_its_tools() {
    let service = Service::without_worker().await;
    let body = json!({
        "soul": "I am.", "secrets": ["KEY"], "hooks": {"confirm": ["mcp.one.close_*"], "log": ["mcp.*"]},
        "mcp_servers": [
            {"name": "one", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer {{secret:KEY}}"}},
            {"name": "two", "command": ["npx", "-y", "x"], "env": {"A": "b"}, "tools": ["get_*"], "timeout_seconds": 5},
        ],
    });
    let put = service.request(Method::PUT, "/v1/agents/a").json(&body);
    assert_eq!(put.send().await.unwrap().status(), 201);
    let (_, agent) = service.get("/v1/agents/a").await;
    insta::assert_json_snapshot!(agent["mcp_servers"], @r#"
    [
      {
        "name": "one",
        "command": null,
        "env": {},
        "url": "https://example.com/mcp",
        "headers": {
          "Authorization": "Bearer {{secret:KEY}}"
        },
        "tools": null,
        "timeout_seconds": null
      },
      {
        "name": "two",
        "command": [
          "npx",
          "-y",
          "x"
        ],
        "env": {
          "A": "b"
        },
        "url": null,
        "headers": {},
        "tools": [
          "get_*"
        ],
        "timeout_seconds": 5
      }
    ]
    "#);
    // The same agent again creates no new version. A version that was stored before `mcp_servers` existed can still
    // be read.
    let put = service.request(Method::PUT, "/v1/agents/a").json(&body);
    assert_eq!(put.send().await.unwrap().status(), 200);
    let forget = "update agent_version set settings = (settings::jsonb - 'mcp_servers')::json";
    sqlx::query(forget).execute(&service.pool).await.unwrap();
    let (_, agent) = service.get("/v1/agents/a").await;
    assert_eq!(
        (&agent["version"], &agent["mcp_servers"]),
        (&json!(1), &json!([]))
    );
}
