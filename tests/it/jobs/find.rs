//! Finding jobs, and the requests of jobs.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::problem::Problem;
use crate::support::{Service, bash};

fn ids(page: &Value) -> Vec<&str> {
    let jobs = page["data"].as_array().unwrap();
    jobs.iter().map(|job| job["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_job_says_what_it_was_asked() {
    let service = Service::without_worker().await;
    let asset = service.upload("a.txt", "x").await;
    let prompt = format!("# Report\n\n{}", "word ".repeat(100));
    let body = json!({
        "skill": "shell", "model": "script/bash", "prompt": prompt, "title": "Monthly report", "external_id": "order-7",
        "inputs": [{"asset_id": asset["id"]}, {"url": "https://example.com/b.txt", "name": "b.txt"}],
        "hooks": {"confirm": ["shell.*"]}, "limits": {"timeout_seconds": 60}, "priority": 3, "max_attempts": 2,
        "metadata": {"order": 7},
    });
    let job = service.create(&body).await;
    let (status, request) = service.get(&format!("/v1/jobs/{job}/request")).await;
    assert_eq!(status, 200, "{request:#}");
    let expected = json!({
        "skill": "shell", "title": "Monthly report", "external_id": "order-7", "prompt": prompt, "model": "script/bash",
        "inputs": [{"asset_id": asset["id"]}, {"url": "https://example.com/b.txt", "name": "b.txt"}],
        "parameters": {}, "hooks": {"confirm": ["shell.*"], "log": [], "silent": []},
        "limits": {
            "timeout_seconds": 60, "max_iterations": 40, "max_tokens": 16_000, "approval_timeout_seconds": 86_400,
        },
        "priority": 3, "max_attempts": 2, "metadata": {"order": 7},
    });
    assert_eq!(request, expected);
    // The request can be sent again unchanged.
    let (status, again) = service.post("/v1/jobs", &request).await;
    assert_eq!(status, 202, "{again:#}");
    assert_eq!(again["title"], "Monthly report");
    let preview = again["prompt_preview"].as_str().unwrap();
    assert!(preview.starts_with("# Report word word") && preview.ends_with('…'));
    assert!((190..=200).contains(&preview.chars().count()), "{preview}");
    let body = json!({"skill": "shell", "model": "script/bash", "prompt": "\n# Sum up\nall"});
    let plain = service.create(&body).await;
    let (_, plain) = service.get(&format!("/v1/jobs/{plain}")).await;
    assert_eq!(
        (&plain["title"], &plain["external_id"]),
        (&json!("# Sum up"), &Value::Null)
    );
    for (wrong, pointer) in [
        (json!({"title": " "}), "/title"),
        (json!({"external_id": "x".repeat(256)}), "/external_id"),
    ] {
        let mut body = json!({"skill": "shell", "model": "script/bash", "prompt": "x"});
        body.as_object_mut()
            .unwrap()
            .extend(wrong.as_object().unwrap().clone());
        let refused = Problem::of(service.request(Method::POST, "/v1/jobs").json(&body)).await;
        assert_eq!(refused.errors()[0].0, pointer);
    }
}

#[tokio::test]
async fn durations_are_there_when_a_job_has_ended() {
    let service = Service::start().await;
    let job = json!({"skill": "shell", "model": "script/bash", "prompt": bash("true")});
    let job = service.run(&job).await;
    assert!(job["queued_ms"].as_i64().unwrap() >= 0, "{job:#}");
    assert!(job["duration_ms"].as_i64().unwrap() >= 0, "{job:#}");
    let ended = service.events(job["id"].as_str().unwrap()).await;
    assert_eq!(ended.last().unwrap()["data"], job);
}

#[tokio::test]
async fn jobs_are_found_by_what_their_client_knows() {
    let service = Service::without_worker().await;
    let create = async |more: Value| {
        let mut body = json!({"skill": "shell", "model": "script/bash", "prompt": "x"});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        service.create(&body).await
    };
    let one =
        create(json!({"external_id": "a", "metadata": {"order": "4711", "paid": true}})).await;
    let two = create(json!({"metadata": {"order": 4711, "place": {"city": "Wien"}}})).await;
    let three = create(json!({"external_id": "a", "metadata": {"order": "0815"}})).await;
    service
        .post(&format!("/v1/jobs/{three}/cancel"), &Value::Null)
        .await;
    let (_, shown) = service.get(&format!("/v1/jobs/{two}")).await;
    let at = shown["created_at"].as_str().unwrap().replace('+', "%2B");
    let cases = [
        (
            "status=queued,cancelled".to_owned(),
            vec![&three, &two, &one],
        ),
        ("status=cancelled".to_owned(), vec![&three]),
        ("status=running,waiting".to_owned(), vec![]),
        ("external_id=a".to_owned(), vec![&three, &one]),
        ("external_id=b".to_owned(), vec![]),
        ("metadata.order=4711".to_owned(), vec![&two, &one]),
        ("metadata.order=0815".to_owned(), vec![&three]),
        ("metadata.order=471".to_owned(), vec![]),
        (
            "metadata.paid=true&metadata.order=4711".to_owned(),
            vec![&one],
        ),
        ("metadata.order=4711&status=cancelled".to_owned(), vec![]),
        (format!("created_after={at}"), vec![&three, &two]),
        (
            "created_after=1970-01-01T00:00:00Z".to_owned(),
            vec![&three, &two, &one],
        ),
        (
            "created_after=0001-01-01T00:00:00Z".to_owned(),
            vec![&three, &two, &one],
        ),
        (format!("created_before={at}"), vec![&one]),
    ];
    for (query, expected) in cases {
        let (status, page) = service.get(&format!("/v1/jobs?{query}")).await;
        assert_eq!(status, 200, "{query}: {page:#}");
        assert_eq!(ids(&page), expected, "{query}");
        assert!(page.get("counts").is_none());
    }
    let (_, page) = service
        .get("/v1/jobs?counts=true&limit=1&status=queued")
        .await;
    assert_eq!(page["counts"], json!({"queued": 2, "cancelled": 1}));
    let (_, page) = service
        .get("/v1/jobs?counts=true&metadata.order=0815")
        .await;
    assert_eq!(page["counts"], json!({"cancelled": 1}));
    for (query, words) in [
        (
            "metadata.a=1&metadata.b=1&metadata.c=1&metadata.d=1",
            "at most 3",
        ),
        ("status=done", "no status `done`"),
        ("created_after=yesterday", "must be a date and time"),
        ("counts=maybe", "must be true or false"),
    ] {
        let refused = Problem::of(service.request(Method::GET, &format!("/v1/jobs?{query}"))).await;
        assert_eq!(refused.kind(), (400, "malformed_request"), "{query}");
        assert!(refused.detail().contains(words), "{query}: {refused:?}");
    }
}

#[tokio::test]
async fn a_conversation_is_found_by_the_clients_reference() {
    let service = Service::without_worker().await;
    let body = json!({"external_id": "chat-42", "metadata": {"first": true}});
    let (status, first) = service.post("/v1/conversations", &body).await;
    assert_eq!(status, StatusCode::CREATED);
    assert_eq!(first["external_id"], "chat-42");
    let again = json!({"external_id": "chat-42"});
    let again = service.post("/v1/conversations", &again).await;
    assert_eq!(again, (StatusCode::OK, first.clone()));
    let (_, other) = service.post("/v1/conversations", &json!({})).await;
    assert_eq!(other["external_id"], Value::Null);
    let (_, page) = service.get("/v1/conversations?external_id=chat-42").await;
    assert_eq!(page["data"], json!([first]));
}

#[tokio::test]
async fn files_are_listed_the_newest_first() {
    let service = Service::without_worker().await;
    let (one, two) = (
        service.upload("1.txt", "1").await,
        service.upload("2.txt", "2").await,
    );
    let (_, page) = service.get("/v1/assets?limit=1").await;
    assert_eq!(page["data"], json!([two]));
    let rest = format!(
        "/v1/assets?limit=1&cursor={}",
        page["next_cursor"].as_str().unwrap()
    );
    assert_eq!(
        service.get(&rest).await.1,
        json!({"data": [one], "next_cursor": null})
    );
    let job = json!({"skill": "shell", "model": "script/bash", "prompt": "x", "inputs": [{"name": "c.txt", "data": "YQ=="}]});
    let job = service.create(&job).await;
    let (_, page) = service.get(&format!("/v1/assets?job_id={job}")).await;
    assert_eq!(page["data"][0]["name"], "c.txt", "{page:#}");
    assert_eq!(page["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn lists_that_fit_on_a_page_keep_to_the_limit_all_the_same() {
    let service = Service::start().await;
    let (_, all) = service.get("/v1/skills?limit=100").await;
    let all = all["data"].as_array().unwrap();
    let (mut read, mut cursor) = (Vec::new(), String::new());
    loop {
        let (_, page) = service.get(&format!("/v1/skills?limit=7{cursor}")).await;
        read.extend(page["data"].as_array().unwrap().clone());
        let Some(next) = page["next_cursor"].as_str() else {
            break;
        };
        assert_eq!(page["data"].as_array().unwrap().len(), 7);
        cursor = format!("&cursor={next}");
    }
    assert_eq!(&read, all);
    for path in [
        "/v1/workers?limit=0",
        "/v1/models?limit=0",
        "/v1/skills?size=1",
    ] {
        let refused = Problem::of(service.request(Method::GET, path)).await;
        assert_eq!(refused.kind(), (400, "malformed_request"), "{path}");
    }
}

#[tokio::test]
async fn models_say_whether_they_can_be_asked_and_what_they_cost() {
    let environment = [
        (
            "SKILLET_PRICES",
            "openai/gpt-5=1.25:10,anthropic/claude-*=3:15:0.3:3.75",
        ),
        ("SKILLET_MODEL", "openai/gpt-5"),
    ];
    let mut service = Service::with_environment(&environment).await;
    service.add_worker(&[("OPENAI_API_KEY", "")]).await;
    let (_, mut page) = service.get("/v1/models").await;
    for model in page["data"].as_array_mut().unwrap() {
        let model = model.as_object_mut().unwrap();
        let provider = (
            model.remove("provider_status"),
            model.remove("provider_ready_at"),
        );
        assert_eq!(provider, (Some(json!("ready")), Some(Value::Null)));
    }
    let free = json!({"input": 0.0, "output": 0.0, "cache_read": 0.0, "cache_write": 0.0});
    let claude = json!({"input": 3.0, "output": 15.0, "cache_read": 0.3, "cache_write": 3.75});
    let gpt = json!({"input": 1.25, "output": 10.0, "cache_read": 1.25, "cache_write": 1.5625});
    assert_eq!(
        page,
        json!({"data": [
        {"name": "anthropic/*", "default": false, "available": true, "price": null},
        {"name": "anthropic/claude-*", "default": false, "available": true, "price": claude},
        {"name": "openai/*", "default": false, "available": false, "price": null},
        {"name": "openai/gpt-5", "default": true, "available": false, "price": gpt},
        {"name": "script/bash", "default": false, "available": true, "price": free},
    ], "next_cursor": null})
    );
}
