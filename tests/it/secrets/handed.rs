//! Delivery of secrets to jobs.

use reqwest::Method;
use serde_json::{Value, json};
use shared::key::Scope;
use shared::secret::generate_master_key;
use tests::model_server::Reply;

use super::{SecretsSetup, VALUE, put};
use crate::support::log::data;
use crate::support::problem::Problem;
use crate::support::{Service, bash, create_key};

fn job(skill: &str, command: &str) -> Value {
    json!({"skill": skill, "model": "script/bash", "prompt": bash(command)})
}

#[tokio::test]
async fn a_skill_gets_what_it_declares_and_no_other() {
    let setup = SecretsSetup::start().await;
    let service = &setup.service;
    put(service, "KEEPER_KEY", VALUE).await;
    put(service, "UNASKED", "nobody asked for it").await;
    // The length shows that the command receives the value itself.
    let command =
        "printf %s \"$KEEPER_KEY\" | wc -c; echo \"[${KEEPER_EXTRA-none}] [${UNASKED-none}]\"";
    let done = service.run(&job("keeper", command)).await;
    let expected = format!("{}\n[none] [none]", VALUE.len());
    assert_eq!(done["text"], expected, "{done:#}");

    put(service, "KEEPER_EXTRA", "and some more").await;
    let extra = "[ \"$KEEPER_EXTRA\" = 'and some more' ] && echo it is there";
    let done = service.run(&job("keeper", extra)).await;
    assert_eq!(done["text"], "it is there", "{done:#}");

    let done = service
        .run(&job(
            "stranger",
            "env | grep -c -e KEEPER -e SKILLET; env | grep UNASKED; true",
        ))
        .await;
    assert_eq!(done["text"], "0", "{done:#}");
}

#[tokio::test]
async fn what_a_command_prints_of_it_is_its_name() {
    let setup = SecretsSetup::start().await;
    let service = &setup.service;
    put(service, "KEEPER_KEY", VALUE).await;
    let command = "echo \"$KEEPER_KEY\"; env | grep KEEPER; echo \"$KEEPER_KEY\" | base64 -w0; echo; \
                   printf 'user:%s' \"$KEEPER_KEY\" | base64 -w0 >&2; \
                   for i in $(seq ${#KEEPER_KEY}); do printf %s \"${KEEPER_KEY:i-1:1}\"; sleep 0.01; done";
    let done = service.run(&job("keeper", command)).await;
    let text = done["text"].as_str().unwrap();
    assert!(
        text.starts_with("[secret KEEPER_KEY]\nKEEPER_KEY=[secret KEEPER_KEY]\n[secret KEEPER_KEY]\n[secret KEEPER_KEY]"),
        "{done:#}"
    );
    let events = service.events(done["id"].as_str().unwrap()).await;
    let completed = data(&events, "tool.completed")[0]["output"]
        .as_str()
        .unwrap();
    let output: Value = serde_json::from_str(completed).unwrap();
    assert!(
        output["stderr"]
            .as_str()
            .unwrap()
            .contains("[secret KEEPER_KEY]"),
        "{output:#}"
    );
    service.assert_unseen().await;
}

#[tokio::test]
async fn a_job_without_a_secret_that_its_skill_requires_is_refused() {
    let setup = SecretsSetup::start().await;
    let service = &setup.service;
    let (_, skill) = service.get("/v1/skills/keeper").await;
    assert_eq!(
        skill["secrets"],
        json!([{"name": "KEEPER_KEY", "required": true}, {"name": "KEEPER_EXTRA", "required": false}])
    );
    // A secret of another tenant does not count.
    let other = create_key(&service.pool, "other", &[Scope::Jobs]).await;
    let theirs = service
        .anonymous(Method::PUT, "/v1/secrets/KEEPER_KEY")
        .bearer_auth(&other);
    let theirs = theirs.json(&json!({"value": VALUE})).send().await.unwrap();
    assert_eq!(theirs.status(), 204);

    let request = service.request(Method::POST, "/v1/jobs");
    let refused = Problem::of(request.json(&job("keeper", "true"))).await;
    assert_eq!(refused.kind(), (422, "invalid_request"));
    let expected = "`keeper` needs secrets that are not set: KEEPER_KEY; set them with PUT /v1/secrets/KEEPER_KEY";
    assert_eq!(refused.errors(), [("/skill", expected)]);
    assert_eq!(service.get("/v1/jobs").await.1["data"], json!([]));

    put(service, "KEEPER_KEY", VALUE).await;
    assert_eq!(
        service.run(&job("keeper", "true")).await["status"],
        "completed"
    );
}

#[tokio::test]
async fn a_secret_that_went_away_before_the_job_began_fails_it() {
    let mut setup = SecretsSetup::with_environment(&[]).await;
    let service = &mut setup.service;
    put(service, "KEEPER_KEY", VALUE).await;
    let waiting = service.create(&job("keeper", "true")).await;
    let delete = service.request(Method::DELETE, "/v1/secrets/KEEPER_KEY");
    assert_eq!(delete.send().await.unwrap().status(), 204);
    service.add_worker(&[]).await;
    let failed = service.finished(&waiting).await;
    assert_eq!(
        failed["error"],
        json!({
            "code": "secret_unavailable",
            "message": "the secret KEEPER_KEY is not set any more; set it with PUT /v1/secrets/KEEPER_KEY",
            "retryable": true,
        })
    );
}

#[tokio::test]
async fn a_worker_opens_only_what_was_put_there_under_its_keys() {
    let (old, new) = (generate_master_key(), generate_master_key());
    let mut setup = SecretsSetup::with_environment(&[("SKILLET_MASTER_KEY", &old)]).await;
    let service = &mut setup.service;
    put(service, "KEEPER_KEY", VALUE).await;
    let expect = async |service: &mut Service, keys: &[(&str, &str)], words: &str| {
        service.workers.clear();
        service.add_worker(keys).await;
        let done = service.run(&job("keeper", "echo done")).await;
        let said = format!("{}{}", done["text"], done["error"]["message"]);
        assert!(said.contains(words), "{done:#}");
    };
    let none = [("SKILLET_MASTER_KEY", "")];
    expect(service, &none, "no master key to decrypt them").await;
    let other = [("SKILLET_MASTER_KEY", new.as_str())];
    expect(service, &other, "SKILLET_PREVIOUS_MASTER_KEYS").await;
    let rotated = [
        ("SKILLET_MASTER_KEY", new.as_str()),
        (
            "SKILLET_PREVIOUS_MASTER_KEYS",
            &format!("{},{old}", generate_master_key()),
        ),
    ];
    expect(service, &rotated, "done").await;

    // A person with write access to the database cannot turn one secret into another.
    sqlx::query("update secret set name = 'KEEPER_EXTRA'")
        .execute(&service.pool)
        .await
        .unwrap();
    put(service, "KEEPER_KEY", "another value").await;
    let moved = "cannot open the secret KEEPER_EXTRA: the stored value was changed or belongs to another secret";
    expect(service, &[], moved).await;
}

#[tokio::test]
async fn whoever_takes_a_job_over_has_its_secrets_too() {
    let mut setup = SecretsSetup::start().await;
    let service = &mut setup.service;
    put(service, "KEEPER_KEY", VALUE).await;
    let echo = Reply::call("shell.exec", json!({"command": "echo \"$KEEPER_KEY\""}));
    let said = Reply::text(format!("It is {VALUE}."));
    let script = [echo.clone(), Reply::stall(), echo, said];
    service.model.script("taken", script);
    let job =
        json!({"skill": "keeper", "model": "anthropic/claude-test", "prompt": "Do it. #taken"});
    let job = service.create(&job).await;
    service.model.stalled("taken").await;
    service.until_event(&job, "tool.completed").await;
    service.workers[0].kill();
    service.add_worker(&[]).await;
    let done = service.finished(&job).await;
    let text = "It is [secret KEEPER_KEY].";
    assert_eq!(
        (&done["attempt"], &done["text"]),
        (&json!(2), &json!(text)),
        "{done:#}"
    );
    let events = service.events(&job).await;
    let outputs = data(&events, "tool.completed");
    let has_label = |output: &&Value| output.to_string().contains("[secret KEEPER_KEY]");
    assert_eq!(
        outputs.iter().filter(|output| has_label(output)).count(),
        2,
        "{outputs:#?}"
    );
    service.assert_unseen().await;
    assert_eq!(service.model.violations(), [""; 0]);
}
