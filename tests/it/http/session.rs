//! Browser sessions, and the origin of their requests.

use reqwest::{Method, RequestBuilder};
use serde_json::json;

use crate::support::problem::Problem;
use crate::support::{Service, send};

/// Starts a session and returns its cookie as a browser sends it back.
async fn log_in(service: &Service) -> String {
    let request = service.anonymous(Method::POST, "/v1/session");
    let response = request.json(&json!({"key": service.key})).send().await;
    let response = response.unwrap();
    assert_eq!(response.status(), 204);
    let cookie = response.headers()["set-cookie"]
        .to_str()
        .unwrap()
        .to_owned();
    for attribute in [
        "; Path=/v1",
        "; HttpOnly",
        "; SameSite=Strict",
        "; Max-Age=604800",
    ] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    let port = service.url.rsplit(':').next().unwrap();
    let (name, value) = cookie.split_once('=').unwrap();
    let plain = format!("skillet_session_{port}");
    if value.contains("; Secure") {
        assert_eq!(name, format!("__Secure-{plain}"));
    } else {
        assert_eq!(name, plain);
    }
    cookie.split(';').next().unwrap().to_owned()
}

/// Returns the request with which a page of the service starts a session.
fn begin(service: &Service, body: &serde_json::Value) -> RequestBuilder {
    let request = service.anonymous(Method::POST, "/v1/session");
    request.json(body)
}

async fn status(request: RequestBuilder) -> u16 {
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_session_stands_for_its_key_until_it_ends() {
    let service = Service::without_worker().await;
    let cookie = log_in(&service).await;
    let as_page = |method: Method, path: &str| {
        let request = service.anonymous(method, path).header("Cookie", &cookie);
        request.header("Sec-Fetch-Site", "same-origin")
    };
    let (_, me) = send(as_page(Method::GET, "/v1/me")).await;
    assert_eq!(me["key"]["name"], "test");
    assert_eq!(me["key"]["scopes"], json!(["jobs", "admin"]));
    assert_eq!(me["tenant"]["name"], "default");
    assert_eq!(
        me["budget_left"],
        json!({"total_tokens": null, "cost_usd": null})
    );
    assert_eq!(
        me["submission_limits"],
        json!({"max_queued": null, "submit_rate": null})
    );
    assert_eq!(service.get("/v1/me").await.1, me);

    let dump = service.dump().await;
    let value = cookie.split_once('=').unwrap().1;
    assert!(!dump.contains(value), "the cookie is stored as a hash");
    let out = as_page(Method::DELETE, "/v1/session").send().await.unwrap();
    assert_eq!(out.status(), 204);
    assert!(
        out.headers()["set-cookie"]
            .to_str()
            .unwrap()
            .contains("Max-Age=0")
    );
    assert_eq!(status(as_page(Method::GET, "/v1/me")).await, 401);
}

#[tokio::test]
async fn a_session_is_for_pages_of_the_service_itself() {
    let service = Service::without_worker().await;
    let cookie = log_in(&service).await;
    let other = "http://127.0.0.1:1";
    let own = service.url.clone();
    let cases = [
        (Method::GET, Some("same-origin"), None, 200),
        (Method::GET, Some("none"), None, 200),
        (Method::GET, Some("same-site"), None, 403),
        (Method::GET, Some("cross-site"), None, 403),
        (Method::GET, None, None, 200),
        (Method::GET, None, Some(other), 403),
        (Method::POST, Some("same-origin"), Some(other), 422),
        (Method::POST, Some("same-site"), Some(&*own), 403),
        (Method::POST, Some("none"), None, 403),
        (Method::POST, None, Some(&*own), 422),
        (Method::POST, None, Some(other), 403),
        (Method::POST, None, None, 403),
    ];
    for (method, site, origin, expected) in cases {
        let mut request = service.anonymous(method.clone(), "/v1/jobs");
        request = request.header("Cookie", format!("other=1; {cookie}"));
        if let Some(site) = site {
            request = request.header("Sec-Fetch-Site", site);
        }
        if let Some(origin) = origin {
            request = request.header("Origin", origin);
        }
        if method == Method::POST {
            request = request.json(&json!({"prompt": "x"}));
        }
        assert_eq!(
            status(request).await,
            expected,
            "{method} {site:?} {origin:?}"
        );
    }
    // Requests with an API key need no origin check.
    let keyed = service.request(Method::GET, "/v1/jobs");
    assert_eq!(
        status(keyed.header("Sec-Fetch-Site", "cross-site")).await,
        200
    );
}

#[tokio::test]
async fn a_session_ends_with_its_key_and_with_time() {
    let service = Service::without_worker().await;
    let (_, made) = service.post("/v1/keys", &json!({"name": "browser"})).await;
    let begin = async || {
        let request = service.anonymous(Method::POST, "/v1/session");
        let response = request.json(&json!({"key": made["token"]})).send().await;
        let cookie = response.unwrap().headers()["set-cookie"]
            .to_str()
            .unwrap()
            .to_owned();
        cookie.split(';').next().unwrap().to_owned()
    };
    let use_it = async |cookie: &str| {
        let request = service.anonymous(Method::GET, "/v1/jobs");
        status(request.header("Cookie", cookie)).await
    };
    for (column, age) in [("used_at", "13 hours"), ("created_at", "8 days")] {
        let cookie = begin().await;
        assert_eq!(use_it(&cookie).await, 200);
        let change = format!("update session set {column} = now() - interval '{age}'");
        let change = sqlx::query(sqlx::AssertSqlSafe(change));
        change.execute(&service.pool).await.unwrap();
        assert_eq!(use_it(&cookie).await, 401, "{column}");
    }
    let cookie = begin().await;
    let path = format!("/v1/keys/{}", made["id"].as_str().unwrap());
    assert_eq!(status(service.request(Method::DELETE, &path)).await, 204);
    assert_eq!(use_it(&cookie).await, 401);
    let wrong = service.anonymous(Method::POST, "/v1/session");
    let refused = Problem::of(wrong.json(&json!({"key": "sk_wrong"}))).await;
    assert_eq!(refused.kind(), (401, "unauthorized"));
    let empty = service.anonymous(Method::POST, "/v1/session");
    let refused = Problem::of(empty.json(&json!({}))).await;
    assert_eq!(refused.kind(), (422, "invalid_request"));
    assert_eq!(
        refused.errors(),
        [("", "send exactly one of `key` and `code`")]
    );
}

#[tokio::test]
async fn a_new_session_ends_the_one_before() {
    let service = Service::without_worker().await;
    let first = log_in(&service).await;
    let request = service.anonymous(Method::POST, "/v1/session");
    let request = request.header("Cookie", &first);
    let again = request.json(&json!({"key": service.key}));
    assert_eq!(status(again).await, 204);
    let request = service.anonymous(Method::GET, "/v1/jobs");
    assert_eq!(status(request.header("Cookie", &first)).await, 401);
}

#[tokio::test]
async fn behind_tls_the_cookie_is_secure_and_the_public_origin_is_the_own_one() {
    let environment = [("SKILLET_PUBLIC_URL", "https://Skillet.Example:443/")];
    let service = Service::with_environment(&environment).await;
    let cookie = log_in(&service).await;
    assert!(cookie.starts_with("__Secure-"), "{cookie}");
    let post = async |origin: &str| {
        let request = service.anonymous(Method::POST, "/v1/jobs");
        let request = request.header("Cookie", &cookie).header("Origin", origin);
        status(request.json(&json!({"prompt": "x"}))).await
    };
    assert_eq!(post("https://skillet.example").await, 422);
    assert_eq!(post(&service.url).await, 403);
}

#[tokio::test]
async fn a_session_has_no_other_methods_for_anybody() {
    let service = Service::without_worker().await;
    for method in [Method::GET, Method::PUT, Method::TRACE] {
        let request = service.anonymous(method.clone(), "/v1/session");
        assert_eq!(status(request).await, 405, "{method}");
    }
    let end = service.anonymous(Method::DELETE, "/v1/session");
    assert_eq!(status(end).await, 401);
}

#[tokio::test]
async fn a_code_begins_one_session_within_a_minute() {
    let service = Service::without_worker().await;
    let create = || service.request(Method::POST, "/v1/session/codes");
    let (created, answer) = send(create()).await;
    assert_eq!((created.as_u16(), &answer["expires_in"]), (201, &json!(60)));
    let body = json!({"code": answer["code"]});
    let code = answer["code"].as_str().unwrap();
    assert!(
        !service.dump().await.contains(code),
        "it is stored as a hash"
    );
    // The code is not accepted as a cookie, whatever prefix it has.
    let port = service.url.rsplit(':').next().unwrap();
    for value in [
        code.to_owned(),
        format!("code{code}"),
        format!("code%0A{code}"),
    ] {
        let cookie = format!("skillet_session_{port}={value}");
        let request = service
            .anonymous(Method::GET, "/v1/me")
            .header("Cookie", cookie);
        assert_eq!(status(request).await, 401);
    }
    let begun = begin(&service, &body).send().await.unwrap();
    assert_eq!(begun.status(), 204);
    let cookie = begun.headers()["set-cookie"].to_str().unwrap().to_owned();
    let cookie = cookie.split(';').next().unwrap();
    let as_page = |method: Method, path: &str| {
        let request = service.anonymous(method, path).header("Cookie", cookie);
        request.header("Sec-Fetch-Site", "same-origin")
    };
    let (_, me) = send(as_page(Method::GET, "/v1/me")).await;
    assert_eq!(me["key"]["name"], "test");

    let again = Problem::of(begin(&service, &body)).await;
    assert_eq!(again.kind(), (401, "unauthorized"));
    assert!(
        again.detail().contains("`skillet open`"),
        "{}",
        again.detail()
    );
    // A session cannot create codes to extend itself.
    let (refused, _) = send(as_page(Method::POST, "/v1/session/codes")).await;
    assert_eq!(refused.as_u16(), 401);

    let (_, late) = send(create()).await;
    let age = "update session set created_at = created_at - interval '61 seconds'";
    sqlx::query(age).execute(&service.pool).await.unwrap();

    let late = Problem::of(begin(&service, &json!({"code": late["code"]}))).await;
    assert_eq!(late.kind(), (401, "unauthorized"));
}

#[tokio::test]
async fn a_session_begins_with_a_key_or_a_code() {
    let service = Service::without_worker().await;
    for body in [json!({}), json!({"key": service.key, "code": "x"})] {
        let refused = Problem::of(begin(&service, &body)).await;
        assert_eq!(refused.kind(), (422, "invalid_request"), "{body}");
    }
}
