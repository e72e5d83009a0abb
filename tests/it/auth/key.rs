//! API keys.

use reqwest::Method;
use serde_json::{Value, json};
use shared::key::Scope;

use crate::support::problem::Problem;
use crate::support::{Service, create_key};

#[tokio::test]
async fn only_a_key_of_this_service_opens_it() {
    let service = Service::without_worker().await;
    let key = &service.key;
    let wrong = [
        "Bearer sk_unknown".to_owned(),
        "Bearer ".to_owned(),
        "Bearer".to_owned(),
        format!("Basic {key}"),
        format!("Bearer {key}x"),
        format!("Bearer {}", &key[..key.len() - 1]),
        format!("Bearer {}", key.to_uppercase()),
        key.clone(),
    ];
    for header in wrong.iter().map(String::as_str).map(Some).chain([None]) {
        for path in ["/v1/jobs", "/v1/nothing"] {
            let mut request = service.anonymous(Method::GET, path);
            if let Some(header) = header {
                request = request.header("Authorization", header);
            }
            let refused = Problem::of(request).await;
            assert_eq!(refused.kind(), (401, "unauthorized"), "{header:?}");
            assert_eq!(refused.headers["www-authenticate"], "Bearer");
        }
    }
    // Authentication schemes are case-insensitive.
    for scheme in ["Bearer", "bearer", "BEARER"] {
        let request = service.anonymous(Method::GET, "/v1/jobs");
        let request = request.header("Authorization", format!("{scheme} {key}"));
        assert_eq!(request.send().await.unwrap().status(), 200, "{scheme}");
    }
}

#[tokio::test]
async fn each_of_many_requests_at_once_is_judged_by_its_own_key() {
    let service = Service::without_worker().await;
    let valid = create_key(&service.pool, "default", &[Scope::Jobs]).await;
    let limited = create_key(&service.pool, "default", &[Scope::Metrics]).await;
    let newer = create_key(&service.pool, "default", &[Scope::Jobs]).await;
    let unknown = format!("{valid}x");
    // Add a scope of a later release, which this release cannot read.
    let alter = sqlx::query("alter type key_scope add value 'later'");
    alter.execute(&service.pool).await.unwrap();
    let change = "update api_key set scopes = '{later}' where hash = $1";
    let change = sqlx::query(change).bind(&shared::key::hash(&newer)[..]);
    assert_eq!(
        change.execute(&service.pool).await.unwrap().rows_affected(),
        1
    );
    let cases = [
        (&valid, 200),
        (&limited, 403),
        (&newer, 500),
        (&unknown, 401),
    ];
    let requests = cases.iter().cycle().take(60).map(async |(key, status)| {
        let request = service.anonymous(Method::GET, "/v1/jobs").bearer_auth(key);
        assert_eq!(request.send().await.unwrap().status(), *status);
    });
    futures_util::future::join_all(requests).await;
}

#[tokio::test]
async fn what_is_not_about_anyone_needs_no_key() {
    let service = Service::without_worker().await;
    for path in ["/healthz", "/readyz", "/openapi.json", "/docs/"] {
        let response = service.anonymous(Method::GET, path).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
    }
}

#[tokio::test]
async fn a_key_does_only_what_its_scopes_say() {
    let service = Service::without_worker().await;
    let jobs_key = create_key(&service.pool, "default", &[Scope::Jobs]).await;
    let admin_key = create_key(&service.pool, "default", &[Scope::Admin]).await;
    let cases = [
        (Method::GET, "/v1/jobs", "jobs"),
        (Method::GET, "/v1/skills", "jobs"),
        (Method::GET, "/v1/secrets", "jobs"),
        (Method::DELETE, "/v1/secrets/API_KEY", "jobs"),
        (
            Method::GET,
            "/v1/assets/asst_019aa0c45e8d70008000000000000000",
            "jobs",
        ),
        (Method::GET, "/v1/keys", "admin"),
        (
            Method::DELETE,
            "/v1/keys/key_019aa0c45e8d70008000000000000000",
            "admin",
        ),
        (Method::GET, "/v1/tenants", "admin"),
        (Method::GET, "/v1/workers", "admin"),
        (Method::GET, "/v1/queue", "metrics"),
    ];
    for (method, path, scope) in cases {
        let (enough, lacking) = match scope {
            "jobs" => (&jobs_key, &admin_key),
            _ => (&admin_key, &jobs_key),
        };
        let request = service.anonymous(method.clone(), path).bearer_auth(lacking);
        let refused = Problem::of(request).await;
        assert_eq!(refused.kind(), (403, "forbidden"), "{path}");
        assert_eq!(
            refused.detail(),
            format!("this key lacks the scope `{scope}`")
        );
        let request = service.anonymous(method, path).bearer_auth(enough);
        let status = request.send().await.unwrap().status();
        assert!(matches!(status.as_u16(), 200 | 404), "{path}: {status}");
    }
    // The scope is checked first, so that the response reveals nothing else.
    let request = service
        .anonymous(Method::POST, "/v1/jobs")
        .bearer_auth(&admin_key);
    assert_eq!(Problem::of(request.json(&json!({}))).await.status, 403);
}

#[tokio::test]
async fn a_key_works_from_its_creation_to_its_revocation() {
    let service = Service::without_worker().await;
    let (_, tenant) = service.post("/v1/tenants", &json!({"name": "acme"})).await;
    let body = json!({"tenant_id": tenant["id"], "name": " ci "});
    let (status, created) = service.post("/v1/keys", &body).await;
    assert_eq!(status, 201);
    let secret = created["token"].as_str().unwrap();
    insta::assert_json_snapshot!(
        created,
        {".id" => "[id]", ".tenant_id" => "[id]", ".hint" => "[hint]", ".created_at" => "[time]", ".token" => "[token]"},
        @r#"
    {
      "id": "[id]",
      "tenant_id": "[id]",
      "name": "ci",
      "hint": "[hint]",
      "scopes": [
        "jobs"
      ],
      "created_at": "[time]",
      "token": "[token]"
    }
    "#
    );
    assert!(secret.starts_with("sk_") && secret.len() > 40, "{secret}");
    assert!(secret.ends_with(created["hint"].as_str().unwrap()));

    let use_it = async || {
        let request = service
            .anonymous(Method::GET, "/v1/jobs")
            .bearer_auth(secret);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(use_it().await, 200);
    let filter = format!("/v1/keys?tenant_id={}", tenant["id"].as_str().unwrap());
    let mut shown = created.clone();
    shown.as_object_mut().unwrap().shift_remove("token");
    assert_eq!(
        service.get(&filter).await.1,
        json!({"data": [shown], "next_cursor": null})
    );

    let path = format!("/v1/keys/{}", created["id"].as_str().unwrap());
    let response = service.request(Method::DELETE, &path).send().await.unwrap();
    assert_eq!(response.status(), 204);
    assert_eq!(use_it().await, 401);
    assert_eq!(service.get(&filter).await.1["data"], json!([]));
    let again = Problem::of(service.request(Method::DELETE, &path)).await;
    assert_eq!(again.kind(), (404, "not_found"));
}

#[tokio::test]
async fn a_secret_is_written_down_nowhere() {
    let service = Service::without_worker().await;
    let (_, tenants) = service.get("/v1/tenants").await;
    let body = json!({"tenant_id": tenants["data"][0]["id"], "name": "needle"});
    let (_, created) = service.post("/v1/keys", &body).await;
    let secret = created["token"].as_str().unwrap();
    let request = service
        .anonymous(Method::GET, "/v1/jobs")
        .bearer_auth(secret);
    assert_eq!(request.send().await.unwrap().status(), 200);

    let dump = service.dump().await;
    assert!(dump.contains("needle"), "the dump has the key's row");
    for form in [
        secret.to_owned(),
        secret[3..].to_owned(),
        hex::encode(secret),
        hex::encode(&secret[3..]),
    ] {
        assert!(!dump.contains(&form), "{form} is in the database");
        assert!(!service.logs().contains(&form), "{form} is in a log");
    }
    let (_, keys) = service.get("/v1/keys").await;
    assert!(!keys.to_string().contains(secret));
}

#[tokio::test]
async fn the_pages_of_the_keys_have_every_key_once() {
    let service = Service::without_worker().await;
    for _ in 0..4 {
        create_key(&service.pool, "default", &[Scope::Jobs]).await;
    }
    let (_, all) = service.get("/v1/keys").await;
    let (_, first) = service.get("/v1/keys?limit=3").await;
    let cursor = first["next_cursor"].as_str().unwrap();
    let (_, second) = service
        .get(&format!("/v1/keys?limit=3&cursor={cursor}"))
        .await;
    let pages = [&first, &second].map(|page| page["data"].as_array().unwrap().clone());
    assert_eq!((pages[0].len(), &second["next_cursor"]), (3, &Value::Null));
    assert_eq!(json!(pages.concat()), all["data"]);
}

#[tokio::test]
async fn a_key_for_metrics_reads_metrics_and_the_queue_and_nothing_else() {
    let service = Service::without_worker().await;
    let key = create_key(&service.pool, "default", &[Scope::Metrics]).await;
    for path in ["/metrics", "/v1/queue"] {
        let request = service.anonymous(Method::GET, path).bearer_auth(&key);
        assert_eq!(request.send().await.unwrap().status(), 200, "{path}");
    }
    let document = service.get("/openapi.json").await.1;
    let mut refused = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let is_public = operation["security"] == json!([{}]);
            if is_public || operation["operationId"] == "get_queue" {
                continue;
            }
            let method: Method = method.to_uppercase().parse().unwrap();
            let url = with_ids(path);
            let request = service.anonymous(method.clone(), &url).bearer_auth(&key);
            let problem = Problem::of(request.json(&json!({}))).await;
            assert_eq!(problem.kind(), (403, "forbidden"), "{method} {url}");
            refused += 1;
        }
    }
    assert!(refused > 60, "{refused} operations");
    let session = service.anonymous(Method::POST, "/v1/session");
    let session = Problem::of(session.json(&json!({"key": key}))).await;
    assert_eq!(session.kind(), (403, "forbidden"));
}

/// Replaces the placeholders of a path with ids of the right form.
fn with_ids(path: &str) -> String {
    let ids = [
        ("job", "job"),
        ("asset", "asst"),
        ("key", "key"),
        ("tenant", "ten"),
        ("conversation", "conv"),
        ("schedule", "sch"),
        ("webhook", "wh"),
        ("approval", "appr"),
        ("delivery", "dlv"),
    ];
    let mut path = path.to_owned();
    for (name, prefix) in ids {
        let id = format!("{prefix}_019aa0c45e8d70008000000000000000");
        path = path.replace(&format!("{{{name}_id}}"), &id);
    }
    path.replace("{name}", "example").replace("{number}", "1")
}
