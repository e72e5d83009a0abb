//! Invalid limits.

use reqwest::Method;
use serde_json::{Value, json};

use super::{CLAUDE, PRICES, limited, service};
use crate::support::Service;
use crate::support::problem::Problem;

async fn refused(service: &Service, body: &Value) -> Problem {
    Problem::of(service.request(Method::POST, "/v1/jobs").json(body)).await
}

#[tokio::test]
async fn a_limit_that_is_none_is_refused_for_jobs_and_agents() {
    let service = service().await;
    let tokens = "must be a whole number from 1 to 1000000000000";
    let money = "must be more than 0 and at most 1000000";
    for (field, value, detail) in [
        ("max_total_tokens", json!(0), tokens),
        ("max_total_tokens", json!(1_000_000_000_001_u64), tokens),
        ("max_cost_usd", json!(0), money),
        ("max_cost_usd", json!(-0.5), money),
        ("max_cost_usd", json!(1_000_001), money),
        ("max_cost_usd", json!(1e-12), money),
    ] {
        let pointer = format!("/limits/{field}");
        let limits = json!({ field: value });
        let job = refused(&service, &limited(CLAUDE, "none", limits.clone())).await;
        assert_eq!(job.kind(), (422, "invalid_request"));
        assert_eq!(job.errors(), [(&*pointer, detail)], "{value}");
        let put = service
            .request(Method::PUT, "/v1/agents/a")
            .json(&json!({"soul": "I am.", "limits": limits}));
        assert_eq!(Problem::of(put).await.errors(), [(&*pointer, detail)]);
    }
    let text = limited(CLAUDE, "none", json!({"max_cost_usd": "1"}));
    assert_eq!(
        refused(&service, &text).await.errors()[0].0,
        "/limits/max_cost_usd"
    );
}

#[tokio::test]
async fn a_limit_of_money_needs_a_price() {
    let service = service().await;
    let limits = json!({"max_cost_usd": 0.5});
    let unknown = limited("openai/gpt-new", "none", limits.clone());
    let problem = refused(&service, &unknown).await;
    assert_eq!(problem.kind(), (422, "invalid_request"));
    let [(pointer, detail)] = problem.errors()[..] else {
        panic!("{problem:?}")
    };
    assert_eq!(pointer, "/limits/max_cost_usd");
    assert!(
        detail.contains("`openai/gpt-new`") && detail.contains("SKILLET_PRICES"),
        "{detail}"
    );
    // A limit of the agent needs a price too.
    let agent = json!({"soul": "I am.", "limits": limits});
    let put = service.request(Method::PUT, "/v1/agents/poor").json(&agent);
    assert_eq!(put.send().await.unwrap().status(), 201);
    let job = json!({"agent": "poor", "model": "openai/gpt-new", "prompt": "Go."});
    assert_eq!(
        refused(&service, &job).await.errors()[0].0,
        "/limits/max_cost_usd"
    );
    // A token limit needs no price, and a script costs nothing.
    let tokens = limited("openai/gpt-new", "none", json!({"max_total_tokens": 1}));
    service.create(&tokens).await;
    service
        .create(&limited("script/bash", "none", limits))
        .await;
}

#[tokio::test]
async fn a_worker_that_does_not_know_the_price_fails_the_job_before_it_costs_something() {
    let mut service = Service::with_environment(&[("SKILLET_PRICES", PRICES)]).await;
    service
        .add_worker(&[("SKILLET_PRICES", "openai/*=1:1")])
        .await;
    let job = service
        .run(&limited(CLAUDE, "none", json!({"max_cost_usd": 0.5})))
        .await;
    assert_eq!(job["status"], "failed", "{job:#}");
    assert_eq!(job["error"]["code"], "model_not_configured");
    assert!(
        job["error"]["message"]
            .as_str()
            .unwrap()
            .contains("SKILLET_PRICES")
    );
}
