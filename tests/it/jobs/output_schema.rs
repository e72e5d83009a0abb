//! Structured results: `output_schema` in, `result` out.

use futures_util::{StreamExt, stream};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use tests::model_server::Reply;

use crate::support::{Service, scripted};

const BOTH: [&str; 2] = ["anthropic/claude-test", "openai/gpt-test"];
/// Texts in rejected schemas: each contains a reference keyword, or a NUL, which no request body may contain.
const REFUSED: [&str; 6] = [
    "$ref",
    "$dynamicRef",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "\\u0000",
];
/// Schemas of the JSON Schema Test Suite, draft 2020-12 (tests/data/json_schema_suite/LICENSE).
const SUITE: &str = include_str!("../../data/json_schema_suite/schemas.jsonl");

#[derive(Deserialize)]
struct SuiteCase {
    from: String,
    schema: Value,
    /// A value that matches the schema, if the suite has one.
    #[serde(default, deserialize_with = "present")]
    valid: Option<Value>,
    /// A value that does not match the schema, if the suite has one.
    #[serde(default, deserialize_with = "present")]
    invalid: Option<Value>,
}

/// Distinguishes `null` from a missing value.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

fn with_schema(model: &str, marker: &str, schema: &Value) -> Value {
    let mut body = scripted(model, marker);
    body["output_schema"] = schema.clone();
    body
}

fn totals() -> Value {
    json!({
        "type": "object",
        "properties": {"total": {"type": "number"}, "currency": {"type": "string"}},
        "required": ["total", "currency"],
        "additionalProperties": false,
    })
}

#[tokio::test]
async fn a_model_submits_its_result_after_its_work() {
    let service = Service::start().await;
    let result = json!({"total": 12.5, "currency": "EUR"});
    for (number, model) in BOTH.into_iter().enumerate() {
        let marker = format!("submit-{number}");
        let look = Reply::call("shell.exec", json!({"command": "echo 12.5"}));
        let wrong = Reply::call("submit_result", json!({"total": "12.5"}));
        let right = Reply::text("The total is there.").then_call("submit_result", result.clone());
        service.model.script(&marker, [look, wrong, right]);
        let job = service.run(&with_schema(model, &marker, &totals())).await;
        assert_eq!(
            (&job["status"], &job["result"]),
            (&json!("completed"), &result),
            "{job:#}"
        );
        assert_eq!(job["text"], "The total is there.");
        let requests = service.model.requests(&marker);
        assert_eq!(requests.len(), 3);
        let last = requests[2].body.to_string();
        assert!(
            last.contains("/total: ") && last.contains("required property"),
            "{last}"
        );
        assert!(
            requests[0]
                .body
                .to_string()
                .contains("call `submit_result` with the result")
        );
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_job_without_a_valid_result_fails_and_keeps_its_text_and_files() {
    let service = Service::start().await;
    let work = Reply::call("shell.exec", json!({"command": "echo hi > a.txt"}))
        .then_call("set_output", json!({"path": "a.txt"}));
    let talk = (0..3).map(|_| Reply::text("It is done."));
    service
        .model
        .script("prose", [work].into_iter().chain(talk));
    let job = service.run(&with_schema(BOTH[0], "prose", &totals())).await;
    assert_eq!(job["status"], "failed", "{job:#}");
    assert_eq!(job["error"]["code"], "result_invalid");
    let message = job["error"]["message"].as_str().unwrap();
    assert!(message.contains("it is not JSON"), "{message}");
    assert_eq!(
        (&job["text"], job["outputs"].as_array().unwrap().len()),
        (&json!("It is done."), 1)
    );
    assert!(job.get("result").is_none());
    service.model.script(
        "short",
        [Reply::call("shell.exec", json!({"command": "true"}))],
    );
    let mut body = with_schema(BOTH[0], "short", &totals());
    body["limits"] = json!({"max_iterations": 1});
    let job = service.run(&body).await;
    assert_eq!(job["error"]["code"], "result_invalid", "{job:#}");
    assert_eq!(job["stop_reason"], "max_iterations");
}

#[tokio::test]
async fn an_agent_and_a_request_have_a_schema_and_the_request_counts() {
    let service = Service::start().await;
    let agent = json!({"soul": "You count.", "tools": [], "output_schema": {"type": "integer"}});
    let put = service
        .request(Method::PUT, "/v1/agents/counter")
        .json(&agent);
    let put: Value = put.send().await.unwrap().json().await.unwrap();
    assert_eq!(put["output_schema"], json!({"type": "integer"}));
    let body = json!({"agent": "counter", "model": BOTH[1], "prompt": "Count. #agents"});
    service.model.script("agents", [Reply::text("3")]);
    assert_eq!(service.run(&body).await["result"], 3);
    let mut own = json!({"agent": "counter", "model": BOTH[1], "prompt": "Count. #requests"});
    own["output_schema"] = json!({"type": "array"});
    service.model.script(
        "requests",
        [Reply::call("submit_result", json!({"result": [3]}))],
    );
    let job = service.run(&own).await;
    assert_eq!(job["result"], json!([3]));
    let path = format!("/v1/jobs/{}/request", job["id"].as_str().unwrap());
    let (_, stored) = service.get(&path).await;
    assert_eq!(stored["output_schema"], json!({"type": "array"}));
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_provider_that_can_constrain_a_message_is_given_the_schema() {
    let mut service = Service::without_worker().await;
    let providers = [
        ("anthropic", service.model.base_url()),
        ("openai", service.model.openai_base_url()),
    ];
    let tables = providers.map(|(kind, url)| {
        let variable = format!("{}_API_KEY", kind.to_uppercase());
        format!(
            "[providers.{kind}]\nkind = \"{kind}\"\nbase_url = \"{url}\"\n\
             key_variable = \"{variable}\"\nstructured_output = true\n"
        )
    });
    let config = service.home.path().join("structured.toml");
    std::fs::write(&config, tables.concat()).unwrap();
    let config = config.display().to_string();
    service.add_worker(&[("SKILLET_CONFIG", &config)]).await;
    let result = json!({"total": 12.5, "currency": "EUR"});
    let fields = ["output_config", "response_format"];
    for (model, field) in BOTH.into_iter().zip(fields) {
        service
            .model
            .script(field, [Reply::text(result.to_string())]);
        let job = service.run(&with_schema(model, field, &totals())).await;
        assert_eq!(job["result"], result, "{job:#}");
        let request = &service.model.requests(field)[0].body;
        assert!(
            request[field].to_string().contains("currency"),
            "{request:#}"
        );
        assert!(!request["tools"].to_string().contains("submit_result"));
        // An older model rejects the field. The request is repeated without it, and the prompt contains the schema.
        let older = format!("older-{field}");
        let refusal =
            Reply::status(400).saying(&format!("{field}: Extra inputs are not permitted"));
        service
            .model
            .script(&older, [refusal, Reply::text(result.to_string())]);
        let job = service.run(&with_schema(model, &older, &totals())).await;
        assert_eq!(job["result"], result, "{job:#}");
        let requests = service.model.requests(&older);
        assert!(requests[1].body.get(field).is_none());
        assert!(requests[1].body.to_string().contains("currency"));
        // Not every schema can be sent to a provider.
        let bounded = format!("bounded-{field}");
        service.model.script(
            &bounded,
            [Reply::call("submit_result", json!({"result": 3}))],
        );
        let job = service
            .run(&with_schema(model, &bounded, &json!({"minimum": 2})))
            .await;
        assert_eq!(job["result"], 3, "{job:#}");
        assert!(
            service.model.requests(&bounded)[0]
                .body
                .get(field)
                .is_none()
        );
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_script_prints_its_result() {
    let service = Service::start().await;
    let prompt = "```bash\necho '{\"total\": 3, \"currency\": \"EUR\"}'\n```";
    let body = json!({"skill": "shell", "model": "script/bash", "prompt": prompt, "output_schema": totals()});
    let job = service.run(&body).await;
    assert_eq!(
        job["result"],
        json!({"total": 3, "currency": "EUR"}),
        "{job:#}"
    );
}

#[tokio::test]
async fn schemas_of_the_official_suite_give_valid_results_or_a_typed_failure() {
    let service = Service::start().await;
    let cases = SUITE
        .lines()
        .map(|line| serde_json::from_str::<SuiteCase>(line).unwrap());
    let cases: Vec<_> = cases.enumerate().collect();
    assert!(cases.len() >= 200);
    let running = stream::iter(&cases).map(|(number, case)| check_case(&service, *number, case));
    let accepted: Vec<bool> = running.buffer_unordered(8).collect().await;
    let accepted = accepted.into_iter().filter(|accepted| *accepted).count();
    assert!(accepted >= 200, "{accepted} of {}", cases.len());
    assert_eq!(service.model.violations(), [""; 0]);
}

/// Runs a job whose first reply is the invalid value and whose next reply is the valid one. Returns whether the
/// schema was accepted.
async fn check_case(service: &Service, number: usize, case: &SuiteCase) -> bool {
    let marker = format!("suite-{number}-");
    let wrong = case
        .invalid
        .iter()
        .map(|value| Reply::text(value.to_string()));
    let replies: Vec<_> = match &case.valid {
        Some(value) => wrong.chain([Reply::text(value.to_string())]).collect(),
        None => wrong.cycle().take(3).collect(),
    };
    service.model.script(&marker, replies);
    let body = with_schema(BOTH[number % 2], &marker, &case.schema);
    let (status, answer) = service.post("/v1/jobs", &body).await;
    let what = &case.from;
    if status == 422 {
        let pointer = answer["errors"][0]["pointer"].as_str().unwrap();
        assert!(pointer.starts_with("/output_schema"), "{what}: {answer:#}");
        let schema = case.schema.to_string();
        assert!(
            REFUSED.iter().any(|it| schema.contains(it)),
            "{what}: {answer:#}"
        );
        return false;
    }
    assert_eq!(status, 202, "{what}: {answer:#}");
    let job = service.finished(answer["id"].as_str().unwrap()).await;
    match &case.valid {
        Some(value) => assert_eq!(job.get("result"), Some(value), "{what}: {job:#}"),
        None => assert_eq!(job["error"]["code"], "result_invalid", "{what}: {job:#}"),
    }
    true
}
