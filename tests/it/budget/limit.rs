//! Limits of one job.

use reqwest::Method;
use serde_json::{Value, json};
use tests::model_server::{Reply, Request};

use super::{CLAUDE, GPT, be_greedy, cap, limited, nanos, read, service, tokens};
use crate::support::Service;
use crate::support::log::data;

#[tokio::test]
async fn no_reply_is_begun_that_could_go_beyond_the_limit_of_tokens() {
    let service = service().await;
    for (number, model) in [CLAUDE, GPT].into_iter().enumerate() {
        let marker = format!("tokens-{number}");
        be_greedy(&service, &marker);
        let limits = json!({"max_total_tokens": 30_000, "max_iterations": 100});
        let job = service.run(&limited(model, &marker, limits)).await;
        assert_eq!(
            (&job["status"], &job["stop_reason"], &job["text"]),
            (
                &json!("completed"),
                &json!("max_total_tokens"),
                &json!("More.")
            ),
            "{job:#}\n{}",
            service.logs()
        );
        let warning = "stopped at limits.max_total_tokens (30000); the work may not be finished";
        assert_eq!(job["warnings"], json!([warning]));
        let used = tokens(&job["usage"]);
        assert!((22_000..=30_000).contains(&used), "{used}");
        assert_eq!(job["usage"]["presumed_tokens"], Value::Null);
        // The last reply was shortened to fit into the limit.
        let requests = service.model.requests(&marker);
        let caps: Vec<_> = requests.iter().map(cap).collect();
        let (last, before) = caps.split_last().unwrap();
        assert!(before.iter().all(|cap| *cap == 4096), "{caps:?}");
        assert!((256..=4096).contains(last), "{caps:?}");
        let events = service.events(job["id"].as_str().unwrap()).await;
        assert_eq!(data(&events, "budget.reserved").len(), requests.len());
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn no_reply_is_begun_that_could_go_beyond_the_limit_of_money() {
    let service = service().await;
    for (number, model) in [CLAUDE, GPT].into_iter().enumerate() {
        let marker = format!("money-{number}");
        be_greedy(&service, &marker);
        let limits = json!({"max_cost_usd": 0.25, "max_iterations": 100});
        let job = service.run(&limited(model, &marker, limits)).await;
        assert_eq!(
            (&job["status"], &job["stop_reason"]),
            (&json!("completed"), &json!("max_cost_usd")),
            "{job:#}"
        );
        let warning = "stopped at limits.max_cost_usd (0.25); the work may not be finished";
        assert_eq!(job["warnings"], json!([warning]));
        let cost = nanos(&job["usage"]["cost_usd"]);
        assert!((200_000_000..=250_000_000).contains(&cost), "{cost}");
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_reply_that_a_limit_has_cut_says_which() {
    let service = service().await;
    service.model.script_with("cut", |request| {
        let reply = Reply::text("All of it").usage(read(request), cap(request));
        reply.out_of_tokens()
    });
    let limits = json!({"max_total_tokens": 20_000, "max_tokens": 50_000});
    let job = service.run(&limited(CLAUDE, "cut", limits)).await;
    assert_eq!(
        (&job["stop_reason"], &job["text"]),
        (&json!("max_total_tokens"), &json!("All of it")),
        "{job:#}"
    );
    assert!(tokens(&job["usage"]) <= 20_000);
    assert!(cap(&service.model.requests("cut")[0]) < 20_000);
}

#[tokio::test]
async fn a_limit_that_does_not_cover_the_prompt_asks_nothing() {
    let service = service().await;
    service.model.script("poor", [Reply::text("Never said.")]);
    for limits in [
        json!({"max_total_tokens": 500}),
        json!({"max_cost_usd": 0.0001}),
    ] {
        let job = service.run(&limited(CLAUDE, "poor", limits)).await;
        assert_eq!(job["status"], "completed", "{job:#}");
        assert_eq!((&job["text"], tokens(&job["usage"])), (&Value::Null, 0));
    }
    assert_eq!(service.model.requests("poor").len(), 0);
}

#[tokio::test]
async fn a_provider_that_does_not_count_has_used_what_was_reserved() {
    let service = service().await;
    for (model, marker, price) in [
        (GPT, "silent", 2_000..=8_000),
        (GPT, "zeros", 2_000..=8_000),
        (CLAUDE, "zeros-too", 3_000..=15_000),
    ] {
        service.model.script_with(marker, move |request| {
            let command = format!("echo {}", request.turn());
            let reply = Reply::call("shell.exec", json!({ "command": command }));
            if marker == "silent" {
                reply.as_simple_server()
            } else {
                reply.usage(0, 0)
            }
        });
        let limits = json!({"max_total_tokens": 40_000, "max_cost_usd": 1, "max_iterations": 100});
        let job = service.run(&limited(model, marker, limits)).await;
        assert_eq!(job["stop_reason"], "max_total_tokens", "{marker}: {job:#}");
        let usage = &job["usage"];
        assert_eq!(tokens(usage), 0);
        assert_eq!(usage.get("cost_usd"), None, "nobody knows");
        let presumed = usage["presumed_tokens"].as_u64().unwrap();
        assert!((20_000..=40_000).contains(&presumed), "{usage:#}");
        assert!(usage["iterations"].as_u64().unwrap() < 10);
        let cost = nanos(&usage["presumed_cost_usd"]);
        let prices = presumed * price.start()..=presumed * price.end();
        assert!(prices.contains(&cost), "{usage:#}");
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_stream_that_broke_counts_and_a_refusal_to_answer_does_not() {
    let service = service().await;
    service.model.script(
        "broken",
        [
            Reply::status(529),
            Reply::text("This will not be whole.").cut_after(3),
            Reply::text("Whole.").usage(50, 5),
        ],
    );
    let limits = json!({"max_total_tokens": 50_000, "max_cost_usd": 1});
    let job = service.run(&limited(CLAUDE, "broken", limits)).await;
    assert_eq!(
        (&job["text"], &job["stop_reason"]),
        (&json!("Whole."), &json!("end_turn")),
        "{job:#}\n{}",
        service.logs()
    );
    let events = service.events(job["id"].as_str().unwrap()).await;
    let reserved = data(&events, "budget.reserved");
    assert_eq!(reserved.len(), 2, "{reserved:#?}");
    assert_eq!(reserved[0], reserved[1]);
    assert_eq!(
        (
            &job["usage"]["presumed_tokens"],
            &job["usage"]["presumed_cost_usd"]
        ),
        (&reserved[0]["tokens"], &reserved[0]["cost_usd"])
    );
    assert_eq!(tokens(&job["usage"]), 55);
}

#[tokio::test]
async fn a_broken_stream_is_not_asked_for_again_if_that_could_go_beyond_the_limit() {
    let service = service().await;
    let broken = || Reply::text("This will not be whole.").cut_after(3);
    service
        .model
        .script("twice", [broken(), broken(), broken()]);
    let limits = json!({"max_total_tokens": 25_000, "max_tokens": 10_000});
    let job = service.run(&limited(CLAUDE, "twice", limits)).await;
    assert_eq!(
        (&job["status"], &job["stop_reason"]),
        (&json!("completed"), &json!("max_total_tokens")),
        "{job:#}"
    );
    assert_eq!(service.model.requests("twice").len(), 1);
}

#[tokio::test]
async fn a_summary_counts_and_is_left_out_when_there_is_no_budget_for_it() {
    let windows = ("SKILLET_CONTEXT_WINDOWS", "anthropic/=4000");
    let prices = ("SKILLET_PRICES", super::PRICES);
    let mut service = Service::with_environment(&[windows, prices]).await;
    service.add_worker(&[]).await;
    let wants_summary = |request: &Request| {
        request["tools"].is_null() && request.body.to_string().contains("You keep the notes")
    };
    service.model.script_conversation("sum", move |request| {
        if wants_summary(request) {
            return Reply::text("They count.").usage(read(request), cap(request));
        }
        let command = format!("echo {}; seq 400", request["messages"].to_string().len());
        let reply = Reply::call("shell.exec", json!({ "command": command }));
        reply.usage(read(request), 50)
    });
    let limits = json!({"max_total_tokens": 120_000, "max_iterations": 200});
    let job = service.run(&limited(CLAUDE, "sum", limits)).await;
    assert_eq!(
        job["stop_reason"],
        "max_total_tokens",
        "{job:#}\n{}",
        service.logs()
    );
    let events = service.events(job["id"].as_str().unwrap()).await;
    let summaries = data(&events, "conversation.compacted");
    assert!(!summaries.is_empty());
    let replies = data(&events, "message.completed");
    let all = replies.iter().chain(&summaries).map(|data| &data["usage"]);
    let used: u64 = all.clone().map(tokens).sum();
    let cost: u64 = all.map(|usage| nanos(&usage["cost_usd"])).sum();
    assert_eq!(
        (tokens(&job["usage"]), nanos(&job["usage"]["cost_usd"])),
        (used, cost)
    );
    assert!((100_000..=120_000).contains(&used), "{used}");
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn jobs_of_an_agent_keep_to_its_limits_unless_they_say_otherwise() {
    let service = service().await;
    let agent = json!({
        "soul": "I am.", "model": CLAUDE, "tools": ["shell.exec"],
        "limits": {"max_total_tokens": 15_000, "max_cost_usd": 100},
    });
    let put = service
        .request(Method::PUT, "/v1/agents/thrifty")
        .json(&agent);
    assert_eq!(put.send().await.unwrap().status(), 201);
    let (_, stored) = service.get("/v1/agents/thrifty").await;
    assert_eq!(stored["limits"]["max_total_tokens"], 15_000);
    assert_eq!(stored["limits"]["max_cost_usd"], 100.0);
    be_greedy(&service, "thrifty");
    let job = json!({"agent": "thrifty", "prompt": "Go. #thrifty"});
    let ended = service.run(&job).await;
    assert_eq!(ended["stop_reason"], "max_total_tokens", "{ended:#}");
    assert!(
        (10_000..=15_000).contains(&tokens(&ended["usage"])),
        "{ended:#}"
    );
    let mut generous = job;
    generous["limits"] = json!({"max_total_tokens": 1_000_000, "max_iterations": 7});
    let ended = service.run(&generous).await;
    assert_eq!(ended["stop_reason"], "max_iterations", "{ended:#}");
    assert!(tokens(&ended["usage"]) > 15_000);
}
