//! The history that a job receives from earlier jobs.

use reqwest::Method;
use serde_json::{Value, json};
use shared::db;
use shared::id::{ConversationId, JobId};
use tests::model_server::Reply;

use super::{CLAUDE, GPT, begin, next, shown};
use crate::support::log::data;
use crate::support::{Service, until};

#[tokio::test]
async fn a_job_is_shown_what_was_said_in_those_before_it() {
    let service = Service::start().await;
    for (number, model) in [CLAUDE, GPT].into_iter().enumerate() {
        let marker = format!("known-{number}");
        service
            .model
            .script_with(&marker, |request| match request.turn() {
                0 => Reply::text("I look.").then_call("shell_exec", json!({"command": "echo 42"})),
                1 => Reply::text("It is 42."),
                _ => Reply::text("As I said: 42."),
            });
        let conversation = begin(&service, "default").await;
        let first = service
            .run(&next(
                &conversation,
                model,
                &format!("Which number? #{marker}"),
            ))
            .await;
        let second = service.run(&next(&conversation, model, "And again?")).await;
        assert_eq!(
            (&first["text"], &second["text"]),
            (&json!("It is 42."), &json!("As I said: 42.")),
            "{second:#}"
        );
        let requests = service.model.requests(&marker);
        let shown = shown(requests.last().unwrap());
        assert_eq!(shown.len(), 5, "{shown:#?}");
        assert!(shown[0].starts_with("user: Which number?"), "{shown:#?}");
        assert_eq!(shown[1], "assistant: I look. | call");
        assert!(
            shown[2].contains("result") && shown[2].contains("42"),
            "{shown:#?}"
        );
        assert_eq!(shown[3..], ["assistant: It is 42.", "user: And again?"]);
        // Each job counts its own usage.
        let used = |job: &Value| {
            (
                job["usage"]["iterations"].clone(),
                job["usage"]["tool_calls"].clone(),
            )
        };
        assert_eq!(
            (used(&first), used(&second)),
            ((json!(2), json!(1)), (json!(1), json!(0)))
        );
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn failed_and_cancelled_jobs_count_with_what_they_said() {
    let service = Service::start().await;
    for (number, model) in [CLAUDE, GPT].into_iter().enumerate() {
        let marker = format!("middle-{number}");
        service.model.script_with(&marker, |request| {
            let said = request["messages"].to_string();
            match () {
                () if said.contains("third") => Reply::text("I know."),
                () if said.contains("refuse") => Reply::status(400),
                () => {
                    Reply::text("I begin.").then_call("shell_exec", json!({"command": "sleep 60"}))
                }
            }
        });
        let conversation = begin(&service, "default").await;
        let first = service
            .create(&next(&conversation, model, &format!("Sleep. #{marker}")))
            .await;
        service.until_event(&first, "tool.started").await;
        service
            .post(&format!("/v1/jobs/{first}/cancel"), &Value::Null)
            .await;
        assert_eq!(service.finished(&first).await["status"], "cancelled");
        let second = service
            .run(&next(&conversation, model, "Now refuse."))
            .await;
        assert_eq!(second["error"]["code"], "model_refused", "{second:#}");
        let third = service.run(&next(&conversation, model, "The third.")).await;
        assert_eq!(third["text"], "I know.", "{third:#}\n{}", service.logs());
        let shown = shown(service.model.requests(&marker).last().unwrap());
        assert_eq!(shown[1], "assistant: I begin. | call");
        let rest = shown[2..].join(" ");
        let at = |text: &str| {
            rest.find(text)
                .unwrap_or_else(|| panic!("{text}: {shown:#?}"))
        };
        let order = [
            "The job ended before this call had a result",
            "Now refuse.",
            "The third.",
        ];
        assert!(order.map(at).is_sorted(), "{shown:#?}");
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn after_a_crash_the_next_worker_knows_the_conversation_too() {
    let mut service = Service::start().await;
    service
        .model
        .script_conversation("crash", |request| match request.turn() {
            0 => Reply::text("One.")
                .then_call("file_write", json!({"path": "a.txt", "content": "one"})),
            1 => Reply::text("Written."),
            2 => Reply::text("On.").then_call(
                "shell_exec",
                json!({"command": "cat a.txt; echo two > b.txt"}),
            ),
            3 => Reply::text("And.")
                .then_call("shell_exec", json!({"command": "echo now; sleep 60"})),
            4 => Reply::text("Look.")
                .then_call("shell_exec", json!({"command": "cat a.txt b.txt in.csv"})),
            _ => Reply::text("All there."),
        });
    let conversation = begin(&service, "default").await;
    service
        .run(&next(&conversation, GPT, "Write. #crash"))
        .await;
    let mut body = next(&conversation, GPT, "Go on.");
    body["inputs"] = json!([{"name": "in.csv", "data": "YSxiCg=="}]);
    let job = service.create(&body).await;
    until(async || {
        let events = service.events(&job).await;
        events
            .iter()
            .filter(|event| event["type"] == "tool.started")
            .count()
            == 2
    })
    .await;
    service.workers[0].kill();
    service.add_worker(&[]).await;
    let ended = service.finished(&job).await;
    assert_eq!(
        (&ended["text"], &ended["attempt"]),
        (&json!("All there."), &json!(2)),
        "{ended:#}\n{}",
        service.logs()
    );
    assert_eq!(ended["usage"]["iterations"], 4);
    let requests = service.model.requests("crash");
    assert_eq!(requests.len(), 6, "no finished turn is asked for again");
    // The system prompt is also unchanged.
    let system = |at: usize| requests[at]["messages"][0]["content"].clone();
    assert_eq!(system(2), system(4));
    assert!(
        system(2)
            .as_str()
            .unwrap()
            .contains("- a.txt (3 bytes)\n- in.csv (4 bytes)"),
        "{}",
        system(2)
    );
    let shown = shown(requests.last().unwrap());
    assert!(
        shown
            .iter()
            .any(|text| text.contains(r#""stdout":"onetwo\na,b\n""#)),
        "{shown:#?}"
    );
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn what_was_done_with_tools_is_known_to_an_agent_that_has_none() {
    let service = Service::start().await;
    let put = async |tools: Value| {
        let body = json!({"soul": "I am.", "tools": tools});
        let put = service.request(Method::PUT, "/v1/agents/own").json(&body);
        assert!(put.send().await.unwrap().status().is_success());
    };
    put(json!(["shell.exec"])).await;
    let conversation = begin(&service, "own").await;
    let job = |model: &str, prompt: &str| {
        let mut body = next(&conversation, model, prompt);
        body["agent"] = json!("own");
        body
    };
    service
        .model
        .script_with("tools", |request| match request.turn() {
            0 if request["tools"].is_array() => {
                Reply::text("Hm.").then_call("shell.exec", json!({"command": "echo one"}))
            }
            _ => Reply::text("One."),
        });
    let first = service.run(&job(CLAUDE, "Which? #tools")).await;
    assert_eq!(first["text"], "One.", "{first:#}\n{}", service.logs());
    put(json!([])).await;
    let second = service.run(&job(CLAUDE, "Sure?")).await;
    assert_eq!(second["text"], "One.", "{second:#}\n{}", service.logs());
    let shown = shown(service.model.requests("tools").last().unwrap());
    let [all] = &shown[..] else {
        panic!("{shown:#?}")
    };
    assert!(
        all.contains("ASSISTANT CALLS shell.exec: ") && all.ends_with("Sure?"),
        "{all}"
    );
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_retry_is_the_latest_job_of_the_conversation() {
    let service = Service::start().await;
    service
        .model
        .script_with("again", |request| match request.turn() {
            0 => Reply::text("First."),
            _ => Reply::text("Second."),
        });
    let conversation = begin(&service, "default").await;
    let job = service
        .run(&next(&conversation, CLAUDE, "Well? #again"))
        .await;
    let path = format!("/v1/jobs/{}/retry", job["id"].as_str().unwrap());
    let (status, retry) = service.post(&path, &Value::Null).await;
    assert_eq!(
        (status.as_u16(), &retry["conversation_id"]),
        (202, &json!(conversation))
    );
    let retry = service.finished(retry["id"].as_str().unwrap()).await;
    assert_eq!(retry["text"], "Second.");
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn of_a_conversation_that_is_too_much_the_end_is_told_and_no_more_is_read() {
    let mut service = Service::without_worker().await;
    let conversation = begin(&service, "default").await;
    for number in 0..6 {
        let prompt = format!("Turn {number} #much. LONG{number}");
        let job = service.create(&next(&conversation, CLAUDE, &prompt)).await;
        let cancel = format!("/v1/jobs/{job}/cancel");
        assert_eq!(service.post(&cancel, &Value::Null).await.0, 200);
    }
    // Longer than the part of a history that a worker reads.
    let long =
        "update job set request = replace(request::text, 'LONG2', repeat('x', 17000000))::json";
    sqlx::query(long).execute(&service.pool).await.unwrap();
    service.add_worker(&[]).await;
    service
        .model
        .script_with("much", |_| Reply::text("I see the end."));
    let ended = service.run(&next(&conversation, CLAUDE, "And now?")).await;
    assert_eq!(ended["text"], "I see the end.", "{}", service.logs());
    let requests = service.model.requests("much");
    let asked = &requests[0].body.to_string();
    let told: Vec<_> = (0..6)
        .filter(|number| asked.contains(&format!("Turn {number} #much.")))
        .collect();
    assert_eq!(told, [3, 4, 5]);
    assert!(asked.contains("the beginning of this conversation is left out"));
    let events = service.events(ended["id"].as_str().unwrap()).await;
    let [warning] = data(&events, "log")[..] else {
        panic!("it is said once: {events:#?}")
    };
    assert_eq!(warning["level"], "warning");
}

#[tokio::test]
async fn a_summary_leaves_the_job_that_it_ends_in_and_those_after_it() {
    let service = Service::without_worker().await;
    let conversation = begin(&service, "default").await;
    let mut jobs = Vec::new();
    for number in 0..4 {
        let prompt = format!("Turn {number}.");
        let job = service.create(&next(&conversation, CLAUDE, &prompt)).await;
        jobs.push(job.parse::<JobId>().unwrap());
    }
    let conversation = conversation.parse::<ConversationId>().unwrap();
    let first = async |job: JobId| {
        let place = db::conversation::get_first_place(&service.pool, conversation, job);
        place.await.unwrap()
    };
    assert_eq!(first(jobs[1]).await, Some(2));
    // The job was deleted, so the next one is the first.
    let delete = sqlx::query("delete from job where id = $1").bind(jobs[1].0);
    delete.execute(&service.pool).await.unwrap();
    assert_eq!(first(jobs[1]).await, Some(3));
    assert_eq!(first(JobId::new()).await, None);
}
