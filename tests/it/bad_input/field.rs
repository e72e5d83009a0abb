//! Invalid fields of new jobs.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};
use shared::key::Scope;

use super::assert_untouched;
use crate::support::problem::Problem;
use crate::support::{Service, create_key};
use shared::id::{AssetId, JobId};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// The change to a valid request, the pointer of the resulting error, and a part of its message.
type Case = (Value, &'static str, &'static str);

#[tokio::test]
async fn what_to_run_has_to_be_named_and_known() {
    refuses(vec![
        (json!({"prompt": ""}), "/prompt", "the prompt is empty"),
        (json!({"prompt": " \n\t"}), "/prompt", "the prompt is empty"),
        (
            json!({"prompt": "x".repeat(500_001)}),
            "/prompt",
            "at most 500000 characters",
        ),
        (
            json!({"skill": "imagee"}),
            "/skill",
            "there is no skill `imagee`; valid values: ",
        ),
        (json!({"skill": "imagee"}), "/skill", "image, "),
        (json!({"skill": null}), "", "set `skill` or `agent`"),
        (
            json!({"agent": "helper"}),
            "/agent",
            "a skill or an agent, not both",
        ),
        (
            json!({"skill": null, "agent": "helper"}),
            "/agent",
            "there is no agent `helper`",
        ),
        (json!({"model": null}), "/model", "no default"),
        (json!({"model": "gpt-5"}), "/model", "`provider/id`"),
        (json!({"model": "open ai/gpt-5"}), "/model", "`provider/id`"),
        (
            json!({"model": "olama/qwen3"}),
            "/model",
            "there is no provider `olama`; configured are: anthropic, openai, script",
        ),
        (
            json!({"model": "script/fish"}),
            "/model",
            "only the model `script/bash`",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_field_of_another_type_or_name_is_pointed_at() {
    refuses(vec![
        (
            json!({"prompt": 5}),
            "/prompt",
            "must be a string, not a number",
        ),
        (
            json!({"prompt": null}),
            "/prompt",
            "must be a string, not null",
        ),
        (
            json!({"limits": {"timeout_seconds": "long"}}),
            "/limits/timeout_seconds",
            "must be a whole number, not a string",
        ),
        (
            json!({"limits": {"max_iterations": -1}}),
            "/limits/max_iterations",
            "must be a whole number from 1 to 1000",
        ),
        (
            json!({"limits": {"max_tokens": 1.5}}),
            "/limits/max_tokens",
            "must be a whole number from 1 to 200000",
        ),
        (
            json!({"limits": "none"}),
            "/limits",
            "must be an object, not a string",
        ),
        (
            json!({"limits": {"max_cost": 1}}),
            "/limits/max_cost",
            "unknown field `max_cost`",
        ),
        (
            json!({"inputs": {}}),
            "/inputs",
            "must be a list, not an object",
        ),
        (
            json!({"inputs": [{"url": "http://h/"}, {"asset_id": 5}]}),
            "/inputs/1/asset_id",
            "must be a string, not a number",
        ),
        (
            json!({"inputs": [{"asset_id": "x"}]}),
            "/inputs/0/asset_id",
            "must be the id of an asset, such as asst_",
        ),
        (
            json!({"inputs": [{"path": "/etc/passwd"}]}),
            "/inputs/0/path",
            "unknown field `path`",
        ),
        (
            json!({"priority": 70_000}),
            "/priority",
            "must be a whole number from -100 to 100",
        ),
        (
            json!({"run_at": "tomorrow"}),
            "/run_at",
            "must be a date and time such as 2026-11-22T08:30:00Z",
        ),
        (
            json!({"metadata": [1]}),
            "/metadata",
            "must be an object, not a list",
        ),
        (
            json!({"parameters": "x"}),
            "/parameters",
            "must be an object, not a string",
        ),
        (
            json!({"a/b~c": 1}),
            "/a~1b~0c",
            "unknown field `a/b~c`; known fields: skill, agent, ",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_number_out_of_its_range_is_pointed_at() {
    refuses(vec![
        (
            json!({"limits": {"timeout_seconds": 0}}),
            "/limits/timeout_seconds",
            "from 1 to 86400",
        ),
        (
            json!({"limits": {"timeout_seconds": 86_401}}),
            "/limits/timeout_seconds",
            "from 1 to 86400",
        ),
        (
            json!({"limits": {"max_iterations": 0}}),
            "/limits/max_iterations",
            "from 1 to 1000",
        ),
        (
            json!({"limits": {"max_iterations": 1001}}),
            "/limits/max_iterations",
            "from 1 to 1000",
        ),
        (
            json!({"limits": {"max_tokens": 200_001}}),
            "/limits/max_tokens",
            "from 1 to 200000",
        ),
        (json!({"priority": 101}), "/priority", "from -100 to 100"),
        (json!({"priority": -101}), "/priority", "from -100 to 100"),
        (json!({"max_attempts": 0}), "/max_attempts", "from 1 to 20"),
        (json!({"max_attempts": 21}), "/max_attempts", "from 1 to 20"),
        (
            json!({"run_at": "+200000-01-01T00:00:00Z"}),
            "/run_at",
            "four digits",
        ),
        (
            json!({"run_at": "-200000-01-01T00:00:00Z"}),
            "/run_at",
            "four digits",
        ),
        (
            json!({"metadata": {"long": "x".repeat(16 * 1024)}}),
            "/metadata",
            "at most 16384 bytes",
        ),
        (
            json!({"inputs": vec![json!({"url": "http://h/"}); 51]}),
            "/inputs",
            "at most 50",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_parameter_has_to_fit_the_schema_of_the_skill() {
    refuses(vec![
        (
            json!({"skill": "sqlite", "parameters": {"allow_mutation": "yes"}}),
            "/parameters/allow_mutation",
            "boolean",
        ),
        (
            json!({"skill": "sqlite", "parameters": {"db_path": ""}}),
            "/parameters/db_path",
            "character",
        ),
        (
            json!({"skill": "sqlite", "parameters": {"path": "x.db"}}),
            "/parameters/path",
            "is not known; there are: db_path, allow_mutation",
        ),
        (
            json!({"skill": "shell", "parameters": {"any": 1}}),
            "/parameters/any",
            "is not known",
        ),
    ])
    .await;
}

#[tokio::test]
async fn an_input_has_to_be_one_file_that_the_skill_takes() {
    let png = STANDARD.encode(PNG);
    let input = |input: Value| json!({"skill": "image", "inputs": [input]});
    refuses(vec![
        (
            input(json!({})),
            "/inputs/0",
            "exactly one of `asset_id`, `url` and `data`",
        ),
        (
            input(json!({"name": "a.png"})),
            "/inputs/0",
            "exactly one of",
        ),
        (
            input(json!({"url": "http://h/", "data": png, "name": "a.png"})),
            "/inputs/0",
            "exactly one of",
        ),
        (
            input(json!({"data": "not base64!", "name": "a.png"})),
            "/inputs/0/data",
            "Base64",
        ),
        (
            input(json!({"data": png})),
            "/inputs/0/name",
            "is required for a file that is sent as `data`",
        ),
        (
            input(json!({"url": "ftp://h/a.png"})),
            "/inputs/0/url",
            "http:// or https://",
        ),
        (
            input(json!({"url": "file:///etc/passwd"})),
            "/inputs/0/url",
            "http:// or https://",
        ),
        (
            input(json!({"asset_id": AssetId::new()})),
            "/inputs/0/asset_id",
            "there is no such asset",
        ),
        (
            input(json!({"asset_id": JobId::new()})),
            "/inputs/0/asset_id",
            "must be the id of an asset (asst_…); this is the id of a job",
        ),
        (
            json!({"skill": "document", "inputs": [{"data": STANDARD.encode(b"ID3\x04\0"), "name": "a.png"}]}),
            "/inputs/0",
            "takes: document, image, html",
        ),
        (
            json!({"skill": "ytdlp", "parameters": {"url": "https://example.org/a"}, "inputs": [{"data": png, "name": "a.db"}]}),
            "/inputs/0",
            "is image/png; the skill `ytdlp` takes: document",
        ),
    ])
    .await;
}

#[tokio::test]
async fn all_that_is_wrong_is_said_at_once() {
    let service = Service::without_worker().await;
    let body = json!({
        "skill": "none", "prompt": "", "model": "olama/qwen3", "priority": 999,
        "limits": {"max_tokens": 0}, "inputs": [{}, {"data": "?", "name": "a"}],
    });
    let refused = Problem::of(service.request(Method::POST, "/v1/jobs").json(&body)).await;
    let pointers: Vec<_> = refused
        .errors()
        .iter()
        .map(|(pointer, _)| *pointer)
        .collect();
    let expected = [
        "/skill",
        "/prompt",
        "/model",
        "/inputs/0",
        "/inputs/1/data",
        "/limits/max_tokens",
        "/priority",
    ];
    assert_eq!(pointers, expected);
    assert_eq!(refused.detail(), "7 fields of the request cannot be used");
    assert_untouched(&service).await;
}

#[tokio::test]
async fn an_asset_of_another_tenant_is_no_input() {
    let service = Service::without_worker().await;
    let asset = service.upload("a.txt", "secret").await;
    let other_key = create_key(&service.pool, "other", &[Scope::Jobs]).await;
    let mut body = good();
    body["inputs"] = json!([{"asset_id": asset["id"]}]);
    let request = service
        .anonymous(Method::POST, "/v1/jobs")
        .bearer_auth(other_key);
    let refused = Problem::of(request.json(&body)).await;
    assert_eq!(refused.errors()[0].0, "/inputs/0/asset_id");
    body["inputs"][0]["name"] = json!("b.txt");
    let refused = Problem::of(service.request(Method::POST, "/v1/jobs").json(&body)).await;
    assert_eq!(
        refused.errors(),
        [(
            "/inputs/0/name",
            "an asset keeps its own name: leave this field out"
        )]
    );
}

#[tokio::test]
async fn a_model_whose_key_no_worker_has_is_refused_with_the_name_of_the_variable() {
    let mut service = Service::without_worker().await;
    service.add_worker(&[("ANTHROPIC_API_KEY", "")]).await;
    let mut body = good();
    body["model"] = json!("anthropic/claude-test");
    let refused = Problem::of(service.request(Method::POST, "/v1/jobs").json(&body)).await;
    assert_eq!(refused.kind(), (422, "invalid_request"));
    let [(pointer, detail)] = refused.errors()[..] else {
        panic!("{refused:?}")
    };
    assert_eq!(pointer, "/model");
    assert!(
        detail.contains("the variable ANTHROPIC_API_KEY"),
        "{detail}"
    );
    assert_untouched(&service).await;

    service.add_worker(&[]).await;
    service.create(&body).await;
}

/// Returns a valid request.
fn good() -> Value {
    json!({"skill": "shell", "prompt": "Do it.", "model": "script/bash"})
}

async fn refuses(cases: Vec<Case>) {
    let service = Service::without_worker().await;
    for (more, place, words) in cases {
        let mut body = good();
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let refused = Problem::of(service.request(Method::POST, "/v1/jobs").json(&body)).await;
        assert_eq!(refused.kind(), (422, "invalid_request"), "{place}: {words}");
        let [(pointer, detail)] = refused.errors()[..] else {
            panic!("{place}: {words}: {refused:?}")
        };
        assert_eq!(pointer, place, "{detail}");
        assert!(detail.contains(words), "{detail}");
        assert_eq!(refused.body["retryable"], false);
    }
    assert_untouched(&service).await;
    service.create(&good()).await;
}
