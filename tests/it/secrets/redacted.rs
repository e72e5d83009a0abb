//! Redaction: the log of a job contains only the names of its secrets.

use serde_json::{Value, json};
use tests::model_server::Reply;

use super::{SecretsSetup, VALUE, put};
use crate::support::Service;
use crate::support::log::{assert_whole, data, text};

const LABEL: &str = "[secret KEEPER_KEY]";
const BOTH: [&str; 2] = ["anthropic/claude-test", "openai/gpt-test"];

impl Service {
    /// Checks that the value is neither in the database nor in a log, in any encoding that could occur.
    pub(super) async fn assert_unseen(&self) {
        let (dump, logs) = (self.dump().await, self.logs());
        let escaped = json!(VALUE).to_string();
        let forms = [
            VALUE,
            escaped.trim_matches('"'),
            "horse \\\"battery",
            "horse \\\\\\\"battery",
        ];
        for form in forms.iter().chain(&["correct%2Fhorse", "battery"]) {
            assert!(!dump.contains(form), "{form} is in the database");
            assert!(!logs.contains(form), "{form} is in a log: {logs}");
        }
    }
}

async fn run(service: &Service, model: &str, marker: &str) -> (Value, Vec<Value>) {
    let job = json!({"skill": "keeper", "model": model, "prompt": format!("Do it. #{marker}")});
    let job = service.run(&job).await;
    let events = service.events(job["id"].as_str().unwrap()).await;
    assert_whole(&events);
    (job, events)
}

#[tokio::test]
async fn what_a_model_says_is_cleaned_however_it_comes_in_pieces() {
    let setup = SecretsSetup::start().await;
    let service = &setup.service;
    put(service, "KEEPER_KEY", VALUE).await;
    for (number, model) in BOTH.into_iter().enumerate() {
        let marker = format!("says-{number}");
        let reply = Reply::thinking(format!("It is {VALUE}, I think, {VALUE}")).then_text(format!(
            "It is {VALUE}. Once more: {VALUE}{VALUE} and correct/hor"
        ));
        service.model.script(&marker, [reply]);
        let (job, events) = run(service, model, &marker).await;
        let said = format!("It is {LABEL}. Once more: {LABEL}{LABEL} and correct/hor");
        assert_eq!(job["text"], said);
        assert_eq!(text(&events, "message.delta"), said);
        let thought = format!("It is {LABEL}, I think, {LABEL}");
        assert_eq!(text(&events, "reasoning.delta"), thought);
        let completed = data(&events, "message.completed")[0];
        assert_eq!(completed["content"][0]["text"], thought);
        assert_eq!(completed["content"][1]["text"], said);
        assert_eq!(events.last().unwrap()["data"]["text"], said);
    }
    service.assert_unseen().await;
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn what_a_tool_is_given_and_gives_is_cleaned_for_the_log_and_the_model() {
    let setup = SecretsSetup::start().await;
    let service = &setup.service;
    put(service, "KEEPER_KEY", VALUE).await;
    for (number, model) in BOTH.into_iter().enumerate() {
        let marker = format!("tool-{number}");
        let command = format!("cat <<'END'\n{VALUE}\nEND\ncat <<'END' >&2\n{VALUE}\nEND\nexit 3");
        let call = Reply::text("I look.").then_call("shell.exec", json!({"command": command}));
        let unknown = Reply::call("shell.exec", json!({"command": "true", VALUE: 1}));
        let done = Reply::text("done");
        service.model.script(&marker, [call, unknown, done]);
        let (job, events) = run(service, model, &marker).await;
        assert_eq!(job["status"], "completed");
        let clean = command.replace(VALUE, LABEL);
        let started = data(&events, "tool.started");
        assert_eq!(started[0]["input"], json!({"command": clean}));
        assert_eq!(started[1]["input"], json!({"command": "true", LABEL: 1}));
        let message = data(&events, "message.completed")[0];
        assert_eq!(message["content"][1]["input"], started[0]["input"]);
        assert_eq!(text(&events, "tool.output").matches(LABEL).count(), 2);

        let results = data(&events, "tool.completed");
        let first: Value = serde_json::from_str(results[0]["output"].as_str().unwrap()).unwrap();
        let line = format!("{LABEL}\n");
        assert_eq!(
            (&first["stdout"], &first["stderr"]),
            (&json!(line), &json!(line))
        );
        assert!(
            results[1]["output"].as_str().unwrap().contains(LABEL),
            "{results:#?}"
        );
        // The model receives the text of the log.
        let told = service.model.requests(&marker)[2]["messages"].to_string();
        for result in results {
            // A failure has a prefix in the request.
            let output = result["output"].to_string();
            assert!(told.contains(&output[1..]), "{output} in {told}");
        }
    }
    service.assert_unseen().await;
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_file_named_like_a_secret_has_another_name_outside() {
    let setup = SecretsSetup::start().await;
    let service = &setup.service;
    put(service, "KEEPER_KEY", VALUE).await;
    let make = "mkdir -p \"$(dirname \"$KEEPER_KEY\")\"; echo content > \"$KEEPER_KEY.txt\"";
    let name = format!("{VALUE}.txt");
    let give = Reply::call("shell.exec", json!({"command": make}))
        .then_call("set_output", json!({"path": name}))
        .then_call("set_output", json!({"path": format!("none-{VALUE}")}));
    service.model.script("asset", [give, Reply::text("done")]);
    let (job, events) = run(service, BOTH[0], "asset").await;
    let clean = format!("{LABEL}.txt");
    let asset = &job["outputs"][0]["asset"];
    assert_eq!(asset["name"], clean, "{events:#?}");
    let created = data(&events, "asset.created")[0];
    assert_eq!(
        (&created["path"], &created["asset"]),
        (&json!(clean), asset)
    );
    let rejected = data(&events, "asset.rejected")[0];
    assert_eq!(rejected["path"], format!("none-{LABEL}"));
    assert_eq!(service.download(asset).await, b"content\n");
    service.assert_unseen().await;
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn why_a_job_failed_and_what_came_with_it_are_cleaned_too() {
    let setup = SecretsSetup::start().await;
    let service = &setup.service;
    put(service, "KEEPER_KEY", "0123-4567-89ab").await;
    let job = json!({
        "skill": "keeper",
        "model": "script/bash",
        "prompt": "nothing",
        "inputs": [{"url": "http://127.0.0.1:1/?token=0123-4567-89ab"}],
        "metadata": {"token": "0123-4567-89ab"},
    });
    let failed = service.run(&job).await;
    let message = failed["error"]["message"].as_str().unwrap();
    assert!(message.contains(&format!("?token={LABEL}")), "{failed:#}");
    let events = service.events(failed["id"].as_str().unwrap()).await;
    assert!(!json!(events).to_string().contains("0123-4567-89ab"));
    // The client gets its own metadata back unchanged.
    assert_eq!(failed["metadata"], job["metadata"]);
    assert!(!service.logs().contains("0123-4567-89ab"));
}
