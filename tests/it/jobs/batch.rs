//! Batches: all jobs are created or none.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::join_all;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::support::problem::Problem;
use crate::support::{Service, bash, put_runner};

const PATH: &str = "/v1/jobs/batch";

#[tokio::test]
async fn a_thousand_jobs_are_accepted_in_their_order() {
    let service = Service::without_worker().await;
    let jobs: Vec<_> = (0..1000)
        .map(|number| match number % 3 {
            0 => json!({"agent": "default", "model": "script/bash", "prompt": number.to_string()}),
            1 => json!({"skill": "html", "model": "script/bash", "prompt": number.to_string(), "priority": 7}),
            _ => shell(&number.to_string()),
        })
        .collect();
    let (status, made) = service.post(PATH, &json!({ "jobs": jobs })).await;
    assert_eq!(status, 202, "{made:#}");
    let made = made["data"].as_array().unwrap();
    assert_eq!(made.len(), 1000);
    for (asked, job) in jobs.iter().zip(made) {
        assert_eq!(
            (&job["skill"], &job["agent"]),
            (&asked["skill"], &asked["agent"])
        );
        assert_eq!(job["status"], "queued");
    }
    let prompts = "select request->>'prompt' from job order by id";
    let prompts = sqlx::query_scalar::<_, String>(prompts).fetch_all(&service.pool);
    let expected: Vec<_> = (0..1000).map(|number| number.to_string()).collect();
    assert_eq!(prompts.await.unwrap(), expected);

    for job in [&made[0], &made[999]] {
        let id = job["id"].as_str().unwrap();
        let (_, mut alone) = service.get(&format!("/v1/jobs/{id}")).await;
        alone.as_object_mut().unwrap().remove("queue");
        assert_eq!(&alone, job);
        assert_eq!(service.events(id).await[0]["type"], "job.queued");
    }
    assert_eq!(service.get("/v1/queue").await.1["ready"], 1000);
}

#[tokio::test]
async fn jobs_of_a_batch_run_and_have_the_files_that_came_with_them() {
    let service = Service::start().await;
    put_runner(&service).await;
    let upload = service.upload("uploaded.txt", "from before").await;
    let inputs = |name: &str| json!([{"asset_id": upload["id"]}, {"name": name, "data": STANDARD.encode(name)}]);
    let mut jobs = vec![
        json!({"agent": "runner", "model": "script/bash", "prompt": bash("cat uploaded.txt one.txt"), "inputs": inputs("one.txt")}),
        json!({"skill": "shell", "model": "script/bash", "prompt": bash("cat uploaded.txt two.txt"), "inputs": inputs("two.txt")}),
    ];
    jobs.extend((0..10).map(|number| shell(&bash(&format!("echo {number}")))));
    let made = create(&service, &json!(jobs)).await;
    for (place, id) in made.iter().enumerate() {
        let ended = service.finished(id).await;
        let expected = match place {
            0 => "from beforeone.txt".to_owned(),
            1 => "from beforetwo.txt".to_owned(),
            place => (place - 2).to_string(),
        };
        assert_eq!(ended["text"], expected, "{ended:#}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_one_job_refuses_all_and_is_named() {
    let service = Service::without_worker().await;
    let mut jobs = vec![shell("Do it."); 20];
    jobs[3] = json!({"agent": "none", "model": "script/bash", "prompt": "x"});
    jobs[17] = json!({"skill": "shell", "model": "script/bash", "prompt": " ", "priority": 101});
    let refused = Problem::of(batch(&service, &json!(jobs))).await;
    assert_eq!(refused.kind(), (422, "invalid_request"));
    let pointers: Vec<_> = refused.errors().iter().map(|(at, _)| *at).collect();
    assert_eq!(
        pointers,
        ["/jobs/3/agent", "/jobs/17/prompt", "/jobs/17/priority"]
    );

    let supabase = json!({"skill": "supabase", "model": "script/bash", "prompt": "x"});
    let unknown = json!({"skill": "shell", "model": "none/x", "prompt": "x"});
    let no_conversation = json!({"agent": "default", "model": "script/bash", "prompt": "x", "conversation_id": shared::id::ConversationId::new()});
    for (job, pointer) in [
        (&supabase, "/jobs/1/skill"),
        (&unknown, "/jobs/1/model"),
        (&no_conversation, "/jobs/1/conversation_id"),
        (&json!({"skill": "shell", "prompt": 5}), "/jobs/1/prompt"),
        (
            &json!({"skill": "shell", "prompt": "x", "color": 1}),
            "/jobs/1/color",
        ),
        (&json!("shell"), "/jobs/1"),
    ] {
        let refused = Problem::of(batch(&service, &json!([shell("x"), job]))).await;
        assert_eq!(refused.errors()[0].0, pointer, "{refused:?}");
    }
    assert_eq!(count(&service).await, (0, 0, 0));
}

#[tokio::test]
async fn a_batch_has_one_to_a_thousand_jobs_and_an_answer_a_hundred_errors() {
    let service = Service::without_worker().await;
    for jobs in [Vec::new(), vec![shell("x"); 1001]] {
        let refused = Problem::of(batch(&service, &json!(jobs))).await;
        assert_eq!(refused.errors(), [("/jobs", "must have 1 to 1000 jobs")]);
    }
    let refused = Problem::of(batch(&service, &json!(vec![shell(""); 1000]))).await;
    assert_eq!(refused.errors().len(), 100);
    let file = json!({"name": "f", "data": STANDARD.encode("x")});
    let mut job = shell("x");
    job["inputs"] = json!(vec![file; 41]);
    let refused = Problem::of(batch(&service, &json!(vec![job; 6]))).await;
    assert_eq!(refused.errors()[0].0, "/jobs/4/inputs");
    assert!(refused.errors()[0].1.contains("more than 200 files"));
    let large = json!([shell(&"x".repeat(33 * 1024 * 1024))]);
    assert_eq!(
        Problem::of(batch(&service, &large)).await.kind(),
        (413, "too_large")
    );
    assert_eq!(count(&service).await, (0, 0, 0));
}

#[tokio::test]
async fn jobs_of_one_conversation_run_in_the_order_of_the_batch() {
    let service = Service::start().await;
    put_runner(&service).await;
    let mut conversations = Vec::new();
    for _ in 0..2 {
        let body = json!({"agent": "runner"});
        let (_, conversation) = service.post("/v1/conversations", &body).await;
        conversations.push(conversation["id"].clone());
    }
    let jobs: Vec<_> = (0..8)
        .map(|number| {
            let prompt = bash(&format!("echo {number} >> log.txt; cat log.txt"));
            json!({"agent": "runner", "model": "script/bash", "prompt": prompt, "conversation_id": conversations[number % 2]})
        })
        .collect();
    let first = create(&service, &json!(jobs[..6])).await;
    let second = create(&service, &json!(jobs[6..])).await;
    let ids: Vec<_> = first.into_iter().chain(second).collect();
    let places = "select array_agg(position order by id) from job group by conversation_id";
    let places: Vec<Vec<i32>> = sqlx::query_scalar(places)
        .fetch_all(&service.pool)
        .await
        .unwrap();
    assert_eq!(places, [[1, 2, 3, 4], [1, 2, 3, 4]]);
    let last = service.finished(&ids[6]).await;
    assert_eq!(last["text"], "0\n2\n4\n6", "{last:#}");
    let last = service.finished(&ids[7]).await;
    assert_eq!(last["text"], "1\n3\n5\n7", "{last:#}");
}

/// Sends more requests at once than the API has database connections. A request that holds one must not wait for
/// another.
#[tokio::test]
async fn a_batch_that_is_sent_again_under_its_key_makes_no_other_jobs() {
    let service = Service::without_worker().await;
    let jobs = json!(vec![shell("x"); 30]);
    let keyed = |jobs: &Value| batch(&service, jobs).header("Idempotency-Key", "k");
    let answers = join_all((0..40).map(|_| async {
        let answer = keyed(&jobs).send().await.unwrap();
        (
            answer.status().as_u16(),
            answer.json::<Value>().await.unwrap(),
        )
    }));
    let answers = answers.await;
    assert_eq!(
        answers.iter().filter(|(status, _)| *status == 202).count(),
        1
    );
    assert!(
        answers
            .iter()
            .all(|(status, _)| [200, 202].contains(status))
    );
    let ids: Vec<_> = answers.iter().map(|(_, made)| ids(made)).collect();
    assert!(ids.iter().all(|one| *one == ids[0]), "{ids:?}");
    assert_eq!(count(&service).await.0, 30);

    let other = Problem::of(keyed(&json!([shell("x")]))).await;
    assert_eq!(other.kind(), (422, "idempotency_key_reused"));
    let single = service.request(Method::POST, "/v1/jobs").json(&shell("x"));
    let other = Problem::of(single.header("Idempotency-Key", "k")).await;
    assert_eq!(other.kind(), (422, "idempotency_key_reused"));

    // A deleted job is not created again.
    let path = format!("/v1/jobs/{}", ids[0][0]);
    service.post(&format!("{path}/cancel"), &Value::Null).await;
    let removed = service.request(Method::DELETE, &path).send().await.unwrap();
    assert_eq!(removed.status(), 204);
    let again: Value = keyed(&jobs).send().await.unwrap().json().await.unwrap();
    assert_eq!(self::ids(&again), ids[0][1..]);
}

fn shell(prompt: &str) -> Value {
    json!({"skill": "shell", "model": "script/bash", "prompt": prompt})
}

fn batch(service: &Service, jobs: &Value) -> RequestBuilder {
    let request = service.request(Method::POST, PATH);
    request.json(&json!({ "jobs": jobs }))
}

async fn create(service: &Service, jobs: &Value) -> Vec<String> {
    let (status, made) = service.post(PATH, &json!({ "jobs": jobs })).await;
    assert_eq!(status, 202, "{made:#}");
    ids(&made)
}

fn ids(made: &Value) -> Vec<String> {
    let jobs = made["data"].as_array().unwrap().iter();
    jobs.map(|job| job["id"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns the numbers of job, run and asset rows.
async fn count(service: &Service) -> (i64, i64, i64) {
    let rows = "select (select count(*) from job), (select count(*) from run), (select count(*) from asset)";
    sqlx::query_as(rows).fetch_one(&service.pool).await.unwrap()
}
