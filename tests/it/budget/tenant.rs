//! Monthly budgets of tenants.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use shared::key::Scope;
use tests::model_server::Reply;

use super::{CLAUDE, be_greedy, limited, service};
use crate::support::problem::Problem;
use crate::support::{Service, create_key, scripted};

/// Returns the id of the tenant that owns the test keys.
pub(super) async fn tenant(service: &Service) -> String {
    let (_, list) = service.get("/v1/tenants").await;
    list["data"][0]["id"].as_str().unwrap().to_owned()
}

fn put(service: &Service, tenant: &str, body: &Value) -> RequestBuilder {
    let path = format!("/v1/tenants/{tenant}/budget");
    service.request(Method::PUT, &path).json(body)
}

/// Sets the tenant's budget.
pub(super) async fn give(service: &Service, body: &Value) -> Value {
    let given = put(service, &tenant(service).await, body).send().await;
    let given = given.unwrap();
    assert_eq!(given.status(), 200);
    given.json().await.unwrap()
}

/// Returns the tenant's current budget.
pub(super) async fn budget(service: &Service) -> Value {
    let path = format!("/v1/tenants/{}/budget", tenant(service).await);
    service.get(&path).await.1
}

#[tokio::test]
async fn a_budget_is_set_and_shown_and_taken_away_again() {
    let service = Service::without_worker().await;
    let month = chrono::Utc::now().format("%Y-%m-01").to_string();
    let nothing = json!({"tokens": 0, "cost_usd": 0.0});
    let mut expected = json!({
        "max_total_tokens": null, "max_cost_usd": null, "month": month, "spent": nothing, "reserved": nothing,
    });
    assert_eq!(budget(&service).await, expected);
    let given = give(
        &service,
        &json!({"max_total_tokens": 5, "max_cost_usd": 0.25}),
    )
    .await;
    expected["max_total_tokens"] = json!(5);
    expected["max_cost_usd"] = json!(0.25);
    assert_eq!((&given, &budget(&service).await), (&expected, &expected));
    let given = give(&service, &json!({})).await;
    assert_eq!(given["max_cost_usd"], Value::Null);
}

#[tokio::test]
async fn only_an_administrator_sets_a_budget_that_makes_sense_for_a_tenant_that_there_is() {
    let service = Service::without_worker().await;
    let id = tenant(&service).await;
    for (body, pointer) in [
        (
            json!({"max_total_tokens": 1_000_000_000_001_u64}),
            "/max_total_tokens",
        ),
        (json!({"max_total_tokens": -1}), "/max_total_tokens"),
        (json!({"max_cost_usd": -0.1}), "/max_cost_usd"),
        (json!({"max_cost_usd": 1_000_001}), "/max_cost_usd"),
        (json!({"max_tokens": 1}), "/max_tokens"),
    ] {
        let problem = Problem::of(put(&service, &id, &body)).await;
        assert_eq!(problem.kind(), (422, "invalid_request"), "{body}");
        assert_eq!(problem.errors()[0].0, pointer, "{body}");
    }
    let unknown = shared::id::TenantId::new().to_string();
    let body = json!({"max_total_tokens": 1});
    let absent = Problem::of(put(&service, &unknown, &body)).await;
    assert_eq!(absent.kind(), (404, "not_found"));
    let path = format!("/v1/tenants/{unknown}/budget");
    let absent = Problem::of(service.request(Method::GET, &path)).await;
    assert_eq!(absent.kind(), (404, "not_found"));
    let key = create_key(&service.pool, "default", &[Scope::Jobs]).await;
    let path = format!("/v1/tenants/{id}/budget");
    for method in [Method::PUT, Method::GET] {
        let request = service.anonymous(method, &path).bearer_auth(&key);
        let refused = Problem::of(request.json(&body)).await;
        assert_eq!(refused.kind(), (403, "forbidden"));
    }
}

#[tokio::test]
async fn a_tenant_without_a_budget_is_not_counted() {
    let service = service().await;
    service.model.script("free", [Reply::text("Hi.")]);
    service.run(&scripted(CLAUDE, "free")).await;
    let rows =
        "select (select count(*) from tenant_budget) + (select count(*) from budget_reservation)";
    let rows: i64 = sqlx::query_scalar(rows)
        .fetch_one(&service.pool)
        .await
        .unwrap();
    assert_eq!(rows, 0);
}

#[tokio::test]
async fn a_job_stops_at_the_budget_of_its_tenant_and_the_next_is_refused_until_the_month_ends() {
    let service = service().await;
    give(&service, &json!({"max_total_tokens": 20_000})).await;
    // This job would not stop by itself and uses the budget to the last token.
    be_greedy(&service, "eager");
    let body = limited(
        CLAUDE,
        "eager",
        json!({"max_iterations": 100, "max_tokens": 256}),
    );
    let job = service.run(&body).await;
    assert_eq!(
        (&job["status"], &job["stop_reason"], &job["text"]),
        (
            &json!("completed"),
            &json!("tenant_budget"),
            &json!("More.")
        ),
        "{job:#}"
    );
    let warning = job["warnings"][0].as_str().unwrap();
    assert!(warning.contains("budget of the tenant"), "{warning}");
    let spent = budget(&service).await;
    assert_eq!(spent["spent"]["tokens"], super::tokens(&job["usage"]));
    assert_eq!(spent["spent"]["cost_usd"], job["usage"]["cost_usd"]);
    assert_eq!(spent["reserved"]["tokens"], 0);

    // A small rest is left, so the budget is not exhausted yet. Use it up.
    let all = "update tenant_budget set spent_tokens = max_total_tokens";
    sqlx::query(all).execute(&service.pool).await.unwrap();
    let post = || service.request(Method::POST, "/v1/jobs").json(&body);
    let retry = format!("/v1/jobs/{}/retry", job["id"].as_str().unwrap());
    for request in [post(), service.request(Method::POST, &retry)] {
        let refused = Problem::of(request).await;
        assert_eq!(refused.kind(), (429, "budget_exceeded"));
        assert_eq!(refused.body["retryable"], true);
        let seconds: i64 = refused.headers["retry-after"]
            .to_str()
            .unwrap()
            .parse()
            .unwrap();
        let renewed_at = chrono::Utc::now() + chrono::TimeDelta::seconds(seconds);
        assert_eq!(renewed_at.format("%d %H:%M").to_string(), "01 00:00");
    }

    // Simulate the next month.
    let later = "update tenant_budget set month = month - interval '1 month'";
    sqlx::query(later).execute(&service.pool).await.unwrap();
    assert_eq!(budget(&service).await["spent"]["tokens"], 0);
    service
        .model
        .script("renewed", [Reply::text("Hi.").usage(70, 7)]);
    let job = service.run(&scripted(CLAUDE, "renewed")).await;
    assert_eq!(job["stop_reason"], "end_turn", "{job:#}");
    assert_eq!(budget(&service).await["spent"]["tokens"], 77);
}

/// A statement that began before midnight may have to wait for one that began after midnight.
#[tokio::test]
async fn a_month_that_has_begun_does_not_end_again() {
    let service = service().await;
    give(&service, &json!({"max_total_tokens": 20_000})).await;
    let begun = "update tenant_budget set spent_tokens = 50, month = month + interval '1 month' returning month::text";
    let begun: String = sqlx::query_scalar(begun)
        .fetch_one(&service.pool)
        .await
        .unwrap();
    service
        .model
        .script("late", [Reply::text("Hi.").usage(70, 7)]);
    service.run(&scripted(CLAUDE, "late")).await;
    let found = budget(&service).await;
    assert_eq!(
        (&found["month"], &found["spent"]["tokens"]),
        (&json!(begun), &json!(127))
    );
}

#[tokio::test]
async fn a_job_that_runs_already_keeps_to_a_new_budget() {
    let service = service().await;
    service.model.script(
        "surprised",
        [
            Reply::stall().then_call("shell.exec", json!({"command": "sleep 2.5"})),
            Reply::text("Never said."),
        ],
    );
    let job = service.create(&scripted(CLAUDE, "surprised")).await;
    service.model.stalled("surprised").await;
    give(&service, &json!({"max_total_tokens": 1})).await;
    service.model.release("surprised");
    let ended = service.finished(&job).await;
    assert_eq!(
        (&ended["stop_reason"], &ended["usage"]["iterations"]),
        (&json!("tenant_budget"), &json!(1)),
        "{ended:#}"
    );
    assert_eq!(service.model.requests("surprised").len(), 1);
}

#[tokio::test]
async fn a_request_that_is_sent_again_is_answered_also_when_the_budget_is_used_up() {
    let service = service().await;
    give(&service, &json!({"max_total_tokens": 1})).await;
    let body = json!({"skill": "shell", "model": "script/bash", "prompt": "Nothing."});
    let post = || {
        let request = service.request(Method::POST, "/v1/jobs").json(&body);
        request.header("Idempotency-Key", "again").send()
    };
    assert_eq!(post().await.unwrap().status(), 202);
    give(&service, &json!({"max_total_tokens": 0})).await;
    assert_eq!(post().await.unwrap().status(), 200);
    assert_eq!(service.post("/v1/jobs", &body).await.0, 429);
}

#[tokio::test]
async fn a_budget_of_money_wants_models_with_a_price() {
    let service = service().await;
    give(&service, &json!({"max_cost_usd": 1})).await;
    let body = scripted("openai/gpt-new", "none");
    let refused = Problem::of(service.request(Method::POST, "/v1/jobs").json(&body)).await;
    assert_eq!(refused.kind(), (422, "invalid_request"));
    let [(pointer, detail)] = refused.errors()[..] else {
        panic!("{refused:?}")
    };
    assert_eq!(pointer, "/model");
    assert!(detail.contains("SKILLET_PRICES"), "{detail}");
    give(&service, &json!({"max_total_tokens": 1_000_000})).await;
    service.create(&body).await;
}
