//! Approving and denying.

use reqwest::StatusCode;
use serde_json::{Value, json};
use tests::model_server::Reply;

use super::{answer, approve, confirmed, shell, waiting};
use crate::support::Service;
use crate::support::log::{assert_whole, data, types};
use shared::id::JobId;

/// Returns the event types without live output and saved workspaces.
fn course(events: &[Value]) -> Vec<&str> {
    let told = |kind: &&str| {
        !matches!(
            *kind,
            "message.delta" | "tool.output" | "workspace.saved" | "reasoning.delta"
        )
    };
    types(events).into_iter().filter(told).collect()
}

#[tokio::test]
async fn an_approved_call_runs_where_it_stood_and_the_files_are_there() {
    let service = Service::start().await;
    service.model.script(
        "yes",
        [
            Reply::text("First a file.")
                .then_call("file_write", json!({"path": "a.txt", "content": "one\n"}))
                .then_call("shell_exec", shell("cat a.txt")),
            Reply::text("It says one."),
        ],
    );
    let job = service.create(&confirmed("yes")).await;
    let asked = waiting(&service, &job).await;
    let [approval] = &asked[..] else {
        panic!("{asked:#?}")
    };
    assert_eq!(
        (&approval["tool"], &approval["input"], &approval["job_id"]),
        (&json!("shell.exec"), &shell("cat a.txt"), &json!(job))
    );
    let (_, shown) = service.get(&format!("/v1/jobs/{job}")).await;
    assert_eq!(
        (&shown["attempt"], &shown["text"]),
        (&json!(1), &Value::Null)
    );

    let (status, answered) = answer(
        &service,
        approval,
        &json!({"decision": "approve", "reason": "Fine."}),
    )
    .await;
    assert_eq!(status, 200, "{answered:#}");
    assert_eq!(
        (
            &answered["status"],
            &answered["reason"],
            &answered["resolved_by"]
        ),
        (&json!("approved"), &json!("Fine."), &json!("test"))
    );
    let ended = service.finished(&job).await;
    assert_eq!(ended["text"], "It says one.", "{ended:#}");
    assert_eq!(ended["usage"]["tool_calls"], 2);
    let events = service.events(&job).await;
    assert_whole(&events);
    assert_eq!(
        course(&events),
        [
            "job.queued",
            "job.started",
            "message.completed",
            "tool.started",
            "tool.completed",
            "approval.requested",
            "job.waiting",
            "approval.resolved",
            "job.resumed",
            "job.started",
            "tool.started",
            "tool.completed",
            "message.completed",
            "job.completed",
        ]
    );
    let results = data(&events, "tool.completed");
    assert!(
        results[1]["output"]
            .as_str()
            .unwrap()
            .contains(r#""stdout":"one\n""#),
        "{results:#?}"
    );
    // No turn was requested twice, and no request mentions missing files.
    let requests = service.model.requests("yes");
    assert_eq!(requests.len(), 2);
    assert!(!format!("{:?}", requests[1].body).contains("may be missing"));
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_denial_is_told_to_the_model_with_its_reason() {
    let service = Service::start().await;
    service.model.script(
        "no",
        [
            Reply::call("shell_exec", shell("touch made")),
            Reply::call("file_list", json!({"path": "."})),
            Reply::text("Then not."),
        ],
    );
    let job = service.create(&confirmed("no")).await;
    let asked = waiting(&service, &job).await;
    let denial = json!({"decision": "deny", "reason": "Not on a Friday."});
    let (status, answered) = answer(&service, &asked[0], &denial).await;
    assert_eq!((status, &answered["status"]), (200, &json!("denied")));

    let ended = service.finished(&job).await;
    assert_eq!(ended["text"], "Then not.", "{ended:#}");
    let events = service.events(&job).await;
    let results = data(&events, "tool.completed");
    assert_eq!(results[0]["outcome"], "denied");
    let told = results[0]["output"].as_str().unwrap();
    assert!(
        told.starts_with(
            "the call was not run: a person has denied it. They said: Not on a Friday."
        ),
        "{told}"
    );
    assert!(
        !results[1]["output"].as_str().unwrap().contains("made"),
        "{results:#?}"
    );
    let resolved = data(&events, "approval.resolved")[0];
    assert_eq!(
        (&resolved["approved"], &resolved["resolved_by"]),
        (&json!(false), &json!("test"))
    );
}

#[tokio::test]
async fn the_first_answer_counts_also_when_two_come_at_once() {
    let service = Service::start().await;
    service.model.script(
        "race",
        [
            Reply::call("shell_exec", shell("echo ran")),
            Reply::text("Done."),
        ],
    );
    let job = service.create(&confirmed("race")).await;
    let asked = waiting(&service, &job).await;
    let (yes, no) = (json!({"decision": "approve"}), json!({"decision": "deny"}));
    let answers = [&yes, &no, &yes, &no].map(|body| answer(&service, &asked[0], body));
    let answers = futures_util::future::join_all(answers).await;
    let accepted: Vec<_> = answers
        .iter()
        .filter(|(status, _)| *status == 200)
        .collect();
    assert_eq!(accepted.len(), 1, "{answers:#?}");
    let (_, refused) = answers.iter().find(|(status, _)| *status == 409).unwrap();
    assert_eq!(refused["code"], "approval_resolved");
    assert!(
        refused["detail"]
            .as_str()
            .unwrap()
            .contains("this approval can no longer be answered: it was "),
        "{refused:#}"
    );
    let approved = accepted[0].1["status"] == "approved";
    service.finished(&job).await;
    let events = service.events(&job).await;
    assert_eq!(data(&events, "approval.resolved").len(), 1);
    let outcome = &data(&events, "tool.completed")[0]["outcome"];
    assert_eq!(outcome, if approved { "ok" } else { "denied" });
}

#[tokio::test]
async fn all_calls_of_a_reply_are_asked_for_at_once_and_run_in_order_when_all_are_answered() {
    let service = Service::start().await;
    service.model.script(
        "three",
        [
            Reply::text("Three.")
                .then_call("shell_exec", shell("echo one >> log"))
                .then_call("file_list", json!({"path": "."}))
                .then_call("shell_exec", shell("echo two >> log"))
                .then_call("shell_exec", json!({"comand": "echo never"}))
                .then_call("shell_exec", shell("cat log")),
            Reply::text("Done."),
        ],
    );
    let job = service.create(&confirmed("three")).await;
    let asked = waiting(&service, &job).await;
    let commands: Vec<_> = asked
        .iter()
        .map(|it| it["input"]["command"].as_str())
        .collect();
    // A call that cannot run does not need an approval.
    assert_eq!(
        commands,
        [
            Some("echo one >> log"),
            Some("echo two >> log"),
            Some("cat log")
        ]
    );
    // Approvals can be answered in any order, and the job waits for the last one.
    approve(&service, &asked[2]).await;
    let (status, _) = answer(&service, &asked[1], &json!({"decision": "deny"})).await;
    assert_eq!(status, 200);
    let (_, shown) = service.get(&format!("/v1/jobs/{job}")).await;
    assert_eq!(shown["status"], "waiting");
    approve(&service, &asked[0]).await;
    service.finished(&job).await;
    let events = service.events(&job).await;
    let results = data(&events, "tool.completed");
    let outcomes: Vec<_> = results
        .iter()
        .map(|it| it["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["ok", "ok", "denied", "error", "ok"]);
    assert!(
        results[4]["output"]
            .as_str()
            .unwrap()
            .contains(r#""stdout":"one\n""#)
    );
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn another_worker_goes_on_and_a_waiting_job_takes_no_slot() {
    let mut service = Service::without_worker().await;
    service.add_worker(&[("SKILLET_SLOTS", "1")]).await;
    for number in 0..3 {
        service.model.script(
            &format!("slot-{number}"),
            [
                Reply::text("A file.")
                    .then_call(
                        "file_write",
                        json!({"path": "n", "content": number.to_string()}),
                    )
                    .then_call("shell_exec", shell("cat n; cat in.txt")),
                Reply::text("Done."),
            ],
        );
    }
    let mut jobs = Vec::new();
    for number in 0..3 {
        let mut body = confirmed(&format!("slot-{number}"));
        body["inputs"] = json!([{"name": "in.txt", "data": "YQo="}]);
        jobs.push(service.create(&body).await);
    }
    // The worker has one slot. Three jobs wait, and a fourth one can still run.
    let mut asked = Vec::new();
    for job in &jobs {
        asked.push(waiting(&service, job).await.remove(0));
    }
    let fourth = service.create_shell("echo through").await;
    assert_eq!(service.finished(&fourth).await["text"], "through");
    let left = std::process::Command::new("find")
        .arg(service.home.path())
        .args(["-type", "d", "-path", "*/workspaces/*/*-*-*-*-*-*"])
        .output()
        .unwrap();
    let left = String::from_utf8(left.stdout).unwrap();
    assert_eq!(left, "", "a job that waits has no workspace on the worker");

    service.workers[0].kill();
    service.add_worker(&[]).await;
    for approval in &asked {
        approve(&service, approval).await;
    }
    for (number, job) in jobs.iter().enumerate() {
        let ended = service.finished(job).await;
        assert_eq!(ended["text"], "Done.", "{ended:#}");
        let events = service.events(job).await;
        let output = data(&events, "tool.completed")[1]["output"]
            .as_str()
            .unwrap();
        assert!(
            output.contains(&format!(r#""stdout":"{number}a\n""#)),
            "{output}"
        );
    }
}

#[tokio::test]
async fn the_clock_stands_still_while_a_job_waits() {
    let service = Service::start().await;
    service.model.script(
        "clock",
        [
            Reply::call("shell_exec", shell("echo in time")),
            Reply::text("Done."),
        ],
    );
    let mut body = confirmed("clock");
    body["limits"] = json!({"timeout_seconds": 30});
    let job = service.create(&body).await;
    let asked = waiting(&service, &job).await;
    // Simulate a job that has waited since yesterday.
    sqlx::query("update run set claimed_at = claimed_at - interval '1 day' where job_id = $1")
        .bind(job.parse::<JobId>().unwrap())
        .execute(&service.pool)
        .await
        .unwrap();
    approve(&service, &asked[0]).await;
    assert_eq!(service.finished(&job).await["status"], "completed");
}

#[tokio::test]
async fn what_waits_can_be_listed_and_is_the_tenants_own() {
    let service = Service::start().await;
    for marker in ["list-a", "list-b"] {
        service.model.script(
            marker,
            [
                Reply::call("shell_exec", shell("true")),
                Reply::text("Done."),
            ],
        );
    }
    let first = service.create(&confirmed("list-a")).await;
    waiting(&service, &first).await;
    let second = service.create(&confirmed("list-b")).await;
    let asked = waiting(&service, &second).await;

    let (_, page) = service.get("/v1/approvals?status=pending&limit=1").await;
    assert_eq!(page["data"], json!(asked));
    let cursor = page["next_cursor"].as_str().unwrap();
    let (_, rest) = service
        .get(&format!(
            "/v1/approvals?status=pending&limit=1&cursor={cursor}"
        ))
        .await;
    assert_eq!(rest["data"][0]["job_id"], json!(first));
    assert_eq!(rest["next_cursor"], Value::Null);

    let other =
        crate::support::create_key(&service.pool, "others", &[shared::key::Scope::Jobs]).await;
    let path = format!("/v1/approvals/{}", asked[0]["id"].as_str().unwrap());
    assert_eq!(service.get(&path).await, (StatusCode::OK, asked[0].clone()));
    let as_other = |request: reqwest::RequestBuilder| request.bearer_auth(&other).send();
    let listed = as_other(service.anonymous(reqwest::Method::GET, "/v1/approvals"))
        .await
        .unwrap();
    assert_eq!(listed.json::<Value>().await.unwrap()["data"], json!([]));
    let tried = service
        .anonymous(reqwest::Method::POST, &path)
        .json(&json!({"decision": "approve"}));
    assert_eq!(as_other(tried).await.unwrap().status(), 404);
    let (_, queue) = service.get("/v1/queue").await;
    assert_eq!(queue["waiting"], 2, "{queue:#}");

    for (body, pointer) in [
        (json!({}), "/decision"),
        (json!({"decision": "yes"}), "/decision"),
        (
            json!({"decision": "approve", "reason": "x".repeat(2001)}),
            "/reason",
        ),
        (json!({"decision": "approve", "why": "x"}), "/why"),
    ] {
        let (status, problem) = answer(&service, &asked[0], &body).await;
        assert_eq!(status, 422, "{problem:#}");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem:#}");
    }
    approve(&service, &asked[0]).await;
    service.finished(&second).await;
    let (_, all) = service.get(&format!("/v1/jobs/{second}/approvals")).await;
    assert_eq!(all["data"][0]["status"], "approved");
    assert_eq!(all["data"][0]["input"], shell("true"));
    let deleted = service
        .request(reqwest::Method::DELETE, &format!("/v1/jobs/{second}"))
        .send()
        .await
        .unwrap();
    assert_eq!(deleted.status(), 204);
    let (_, page) = service.get("/v1/approvals").await;
    assert_eq!(page["data"].as_array().unwrap().len(), 1);
}
