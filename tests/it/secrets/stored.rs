//! Secrets over HTTP and in the database.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};
use shared::key::Scope;

use super::{SecretsSetup, VALUE, put};
use crate::support::problem::Problem;
use crate::support::{Service, create_key};

#[tokio::test]
async fn a_secret_is_set_listed_replaced_and_deleted() {
    let service = Service::without_worker().await;
    put(&service, "API_KEY", VALUE).await;
    put(&service, "A_KEY", VALUE).await;
    let (status, page) = service.get("/v1/secrets").await;
    assert_eq!(status, 200);
    insta::assert_json_snapshot!(
        page,
        {".data[].created_at" => "[time]", ".data[].updated_at" => "[time]"},
        @r#"
    {
      "data": [
        {
          "name": "API_KEY",
          "created_at": "[time]",
          "updated_at": "[time]"
        },
        {
          "name": "A_KEY",
          "created_at": "[time]",
          "updated_at": "[time]"
        }
      ],
      "next_cursor": null
    }
    "#
    );

    put(&service, "API_KEY", "another value").await;
    let (_, first) = service.get("/v1/secrets?limit=1").await;
    let before = &page["data"][0];
    let replaced = &first["data"][0];
    assert_eq!(replaced["created_at"], before["created_at"]);
    assert!(replaced["updated_at"].as_str() > before["updated_at"].as_str());
    let cursor = first["next_cursor"].as_str().unwrap();
    let (_, second) = service
        .get(&format!("/v1/secrets?limit=1&cursor={cursor}"))
        .await;
    assert_eq!(
        (&second["data"], &second["next_cursor"]),
        (&json!([page["data"][1]]), &Value::Null)
    );

    let delete = || service.request(Method::DELETE, "/v1/secrets/API_KEY");
    assert_eq!(delete().send().await.unwrap().status(), 204);
    assert_eq!(Problem::of(delete()).await.kind(), (404, "not_found"));
    let (_, rest) = service.get("/v1/secrets").await;
    assert_eq!(rest["data"], json!([page["data"][1]]));
}

#[tokio::test]
async fn nothing_of_a_value_can_be_read_in_the_database_or_the_logs() {
    let service = Service::without_worker().await;
    put(&service, "API_KEY", VALUE).await;
    let stored = sqlx::query_as::<_, (String, Vec<u8>, Vec<u8>)>(
        "select name, ciphertext, nonce from secret",
    );
    let (name, ciphertext, nonce) = stored.fetch_one(&service.pool).await.unwrap();
    assert_eq!(name, "API_KEY");
    // The ciphertext consists of the value and the tag.
    assert_eq!((ciphertext.len(), nonce.len()), (VALUE.len() + 16, 12));
    let dump = service.dump().await;
    assert!(dump.contains("API_KEY"), "the dump has the secret's row");
    let words = VALUE.split(' ').map(str::to_owned);
    for text in words.chain([hex::encode(VALUE), STANDARD.encode(VALUE)]) {
        assert!(!dump.contains(&text), "{text} is in the database");
        assert!(!service.logs().contains(&text), "{text} is in a log");
    }
    // Storing the same value again gives a different ciphertext.
    put(&service, "API_KEY", VALUE).await;
    let again = sqlx::query_scalar::<_, Vec<u8>>("select ciphertext from secret");
    assert_ne!(again.fetch_one(&service.pool).await.unwrap(), ciphertext);
}

#[tokio::test]
async fn a_tenant_sees_and_deletes_only_its_own() {
    let service = Service::without_worker().await;
    put(&service, "API_KEY", VALUE).await;
    let other = create_key(&service.pool, "other", &[Scope::Jobs]).await;
    let as_other = |method| {
        let request = service.anonymous(method, "/v1/secrets/API_KEY");
        request.bearer_auth(&other)
    };
    let list = service
        .anonymous(Method::GET, "/v1/secrets")
        .bearer_auth(&other);
    let page: Value = list.send().await.unwrap().json().await.unwrap();
    assert_eq!(page["data"], json!([]));
    let refused = Problem::of(as_other(Method::DELETE)).await;
    assert_eq!(refused.kind(), (404, "not_found"));
    let set = as_other(Method::PUT).json(&json!({"value": "theirs, not ours"}));
    assert_eq!(set.send().await.unwrap().status(), 204);
    let deleted = as_other(Method::DELETE).send().await.unwrap();
    assert_eq!(deleted.status(), 204);
    let (_, ours) = service.get("/v1/secrets").await;
    assert_eq!(ours["data"].as_array().unwrap().len(), 1);

    let admin = create_key(&service.pool, "other", &[Scope::Admin]).await;
    for method in [Method::PUT, Method::DELETE] {
        let request = service.anonymous(method, "/v1/secrets/API_KEY");
        let refused = Problem::of(request.bearer_auth(&admin)).await;
        assert_eq!(refused.kind(), (403, "forbidden"));
    }
}

#[tokio::test]
async fn what_cannot_be_a_secret_is_refused_and_not_repeated() {
    let service = Service::without_worker().await;
    for (name, words) in [
        ("api_key", "a capital letter"),
        ("1KEY", "a capital letter"),
        ("A%20B", "a capital letter"),
        ("PATH", "`PATH`"),
        ("LD_PRELOAD", "`LD_PRELOAD`"),
        ("HTTPS_PROXY", "`HTTPS_PROXY`"),
    ] {
        let path = format!("/v1/secrets/{name}");
        let request = service.request(Method::PUT, &path);
        let refused = Problem::of(request.json(&json!({"value": VALUE}))).await;
        assert_eq!(refused.kind(), (400, "malformed_request"), "{name}");
        assert!(refused.detail().contains(words), "{refused:?}");
        let delete = Problem::of(service.request(Method::DELETE, &path)).await;
        assert_eq!(delete.kind(), (404, "not_found"), "{name}");
    }
    for (body, pointer, words) in [
        (json!({"value": "hunter2"}), "/value", "at least 8 bytes"),
        (
            json!({"value": "hunter2        "}),
            "/value",
            "at least 8 bytes",
        ),
        (json!({"value": "hunter2\0hunter2"}), "/value", "NUL"),
        (
            json!({"value": "hunter2".repeat(10_000)}),
            "/value",
            "65536 bytes",
        ),
        (json!({"value": 1234567890}), "/value", "a string"),
        (json!({"value": ["hunter2"]}), "/value", "a string"),
        (json!({"value": null}), "/value", "a string"),
        (json!({}), "/value", "is required"),
        (json!({"hunter2": 1}), "", "and no other"),
        (
            json!({"value": "hunter2 hunter2", "x": 1}),
            "",
            "and no other",
        ),
        (json!("hunter2"), "", "an object"),
        (json!(["hunter2"]), "", "an object"),
    ] {
        let request = service.request(Method::PUT, "/v1/secrets/API_KEY");
        let refused = Problem::of(request.json(&body)).await;
        assert_eq!(refused.kind(), (422, "invalid_request"), "{body}");
        let [(place, detail)] = refused.errors()[..] else {
            panic!("{refused:?}")
        };
        assert_eq!(place, pointer, "{refused:?}");
        assert!(detail.contains(words), "{refused:?}");
        let all = refused.body.to_string();
        assert!(
            !all.contains("hunter2") && !all.contains("1234567890"),
            "{all}"
        );
    }
    let request = service.request(Method::PUT, "/v1/secrets/API_KEY");
    let broken = request
        .header("Content-Type", "application/json")
        .body("{\"value\": \"hunter2");
    let refused = Problem::of(broken).await;
    assert_eq!(refused.kind(), (400, "malformed_request"));
    assert!(!refused.body.to_string().contains("hunter2"));
    assert!(!service.logs().contains("hunter2"), "{}", service.logs());
    assert_eq!(service.get("/v1/secrets").await.1["data"], json!([]));
}

#[tokio::test]
async fn without_a_master_key_the_service_says_what_to_set() {
    let setup = SecretsSetup::with_environment(&[("SKILLET_MASTER_KEY", "")]).await;
    let service = &setup.service;
    for (method, path) in [
        (Method::PUT, "/v1/secrets/KEEPER_KEY"),
        (Method::DELETE, "/v1/secrets/KEEPER_KEY"),
        (Method::GET, "/v1/secrets"),
    ] {
        let request = service.request(method, path);
        let refused = Problem::of(request.json(&json!({"value": VALUE}))).await;
        assert_eq!(refused.kind(), (503, "not_configured"));
        for words in ["SKILLET_MASTER_KEY", "openssl rand -base64 32"] {
            assert!(refused.detail().contains(words), "{refused:?}");
        }
        assert_eq!(refused.body["retryable"], false);
        assert!(!refused.headers.contains_key("retry-after"));
    }
    let job = json!({"skill": "shell", "model": "script/bash", "prompt": "nothing"});
    service.create(&job).await;
}
