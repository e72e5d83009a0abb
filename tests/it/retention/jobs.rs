//! Retention of jobs.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::{age, asset_path, forget, is_gone, job_path};
use crate::support::{Service, bash, put_runner};

#[tokio::test]
async fn a_job_goes_with_all_that_is_its_own_when_its_time_is_over() {
    let mut service = Service::with_maker().await;
    let upload = service.upload("mine.txt", "shared").await;
    let prompt = bash("printf shared > same.txt; printf alone > own.txt")
        + "\noutput document: same.txt\noutput document: own.txt";
    let body = json!({
        "skill": "maker", "model": "script/bash", "prompt": prompt,
        "inputs": [{"name": "sent.txt", "data": STANDARD.encode("sent along")}],
    });
    let mut made = Vec::new();
    for _ in 0..2 {
        made.push(service.run(&body).await);
    }
    let [old, young] = &made[..] else {
        unreachable!("there are two")
    };
    let old_id = age(&service, old["id"].as_str().unwrap(), 31).await;
    let young_id = age(&service, young["id"].as_str().unwrap(), 29).await;
    let (_, before) = service.get(&job_path(&young_id)).await;
    assert!(!is_gone(&service, &job_path(&old_id)).await);

    forget(&mut service, &[]).await;
    for path in [
        job_path(&old_id),
        format!("{}/events", job_path(&old_id)),
        format!("{}/stream", job_path(&old_id)),
    ] {
        assert!(is_gone(&service, &path).await, "{path}");
    }
    for output in old["outputs"].as_array().unwrap() {
        assert!(is_gone(&service, &asset_path(&output["asset"])).await);
    }
    assert_eq!(service.get(&job_path(&young_id)).await.1, before);
    assert!(!service.events(&young_id).await.is_empty());
    for output in young["outputs"].as_array().unwrap() {
        service.download(&output["asset"]).await;
    }
    assert_eq!(service.download(&upload).await, b"shared");

    // A shared blob is kept until the last job that has it is deleted.
    let own = &young["outputs"][1]["asset"]["sha256"];
    assert!(service.blob(own).exists());
    let young_id = age(&service, &young_id, 2).await;
    forget(&mut service, &[]).await;
    assert!(is_gone(&service, &job_path(&young_id)).await);
    assert!(!service.blob(own).exists());
    assert!(service.blob(&upload["sha256"]).exists());
    let assets: Vec<String> = sqlx::query_scalar("select name from asset")
        .fetch_all(&service.pool)
        .await
        .unwrap();
    assert_eq!(assets, ["mine.txt"]);
}

#[tokio::test]
async fn nothing_goes_where_nothing_is_to_be_removed_and_what_is_shorter_goes_earlier() {
    let mut service = Service::start().await;
    let job = service.create_shell("true").await;
    service.finished(&job).await;
    let job = age(&service, &job, 1000).await;
    forget(&mut service, &[("SKILLET_RETENTION", "never")]).await;
    assert!(!is_gone(&service, &job_path(&job)).await);
    assert!(!service.events(&job).await.is_empty());

    let recent = service.create_shell("true").await;
    service.finished(&recent).await;
    let recent = age(&service, &recent, 1).await;
    forget(&mut service, &[("SKILLET_RETENTION", "36h")]).await;
    assert!(is_gone(&service, &job_path(&job)).await);
    assert!(!is_gone(&service, &job_path(&recent)).await);
    forget(&mut service, &[("SKILLET_RETENTION", "12h")]).await;
    assert!(is_gone(&service, &job_path(&recent)).await);
}

#[tokio::test]
async fn a_conversation_goes_as_a_whole() {
    let mut service = Service::start().await;
    put_runner(&service).await;
    let mut conversations = Vec::new();
    for _ in 0..2 {
        let agent = json!({"agent": "runner"});
        let (_, conversation) = service.post("/v1/conversations", &agent).await;
        let id = conversation["id"].as_str().unwrap().to_owned();
        let mut jobs = Vec::new();
        for number in 0..3 {
            let prompt = bash(&format!("echo {number} >> log; cat log"));
            let body = json!({"agent": "runner", "model": "script/bash", "prompt": prompt, "conversation_id": id});
            let job = service.run(&body).await["id"].as_str().unwrap().to_owned();
            jobs.push(job);
        }
        conversations.push((id, jobs));
    }
    // The first conversation continued yesterday.
    for (number, (_, jobs)) in conversations.iter_mut().enumerate() {
        for (place, job) in jobs.iter_mut().enumerate() {
            let days = if (number, place) == (0, 2) { 1 } else { 40 };
            *job = age(&service, job, days).await;
        }
    }
    let past = sqlx::query("update conversation set created_at = created_at - interval '40 days'");
    past.execute(&service.pool).await.unwrap();
    forget(&mut service, &[]).await;
    let [(going, its), (gone, their)] = &conversations[..] else {
        unreachable!("there are two")
    };
    assert!(is_gone(&service, &format!("/v1/conversations/{gone}")).await);
    for job in their {
        assert!(is_gone(&service, &job_path(job)).await);
    }
    for job in its {
        assert!(!is_gone(&service, &job_path(job)).await);
        assert!(!service.events(job).await.is_empty());
    }
    let prompt = bash("echo more >> log; cat log");
    let body = json!({"agent": "runner", "model": "script/bash", "prompt": prompt, "conversation_id": going});
    assert_eq!(service.run(&body).await["text"], "0\n1\n2\nmore");
}

#[tokio::test]
async fn a_job_stays_as_long_as_a_later_one_begins_with_its_files() {
    let mut service = Service::with_maker().await;
    let prompt = bash("printf made > own.txt") + "\noutput document: own.txt";
    let body = json!({"skill": "maker", "model": "script/bash", "prompt": prompt});
    let made = service.run(&body).await;
    let asset = &made["outputs"][0]["asset"];
    let job = age(&service, made["id"].as_str().unwrap(), 50).await;
    // A job that has not begun yet took the file as an input 40 days ago.
    let later = json!({
        "skill": "shell", "model": "script/bash", "prompt": bash("cat own.txt"), "run_at": "2126-01-01T00:00:00Z",
        "inputs": [{"asset_id": asset["id"]}],
    });
    let later = service.create(&later).await;
    let later = age(&service, &later, 40).await;
    let past = sqlx::query("update asset set used_at = used_at - interval '40 days'");
    past.execute(&service.pool).await.unwrap();
    forget(&mut service, &[]).await;
    assert!(!is_gone(&service, &job_path(&job)).await);
    let due = "update run set run_at = now()";
    sqlx::query(due).execute(&service.pool).await.unwrap();
    assert_eq!(service.finished(&later).await["text"], "made");
    // The job ended just now.
    forget(&mut service, &[]).await;
    assert!(is_gone(&service, &job_path(&job)).await);
    assert!(!is_gone(&service, &job_path(&later)).await);
}
