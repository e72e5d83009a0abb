//! Listing jobs.

use serde_json::{Value, json};

use crate::support::{Service, bash};

#[tokio::test]
async fn the_pages_of_a_list_have_every_job_once_while_new_ones_come() {
    let service = Service::without_worker().await;
    let mut jobs = Vec::new();
    for _ in 0..7 {
        jobs.push(service.create_shell("true").await);
    }
    jobs.reverse();

    let mut seen = Vec::new();
    let mut sizes = Vec::new();
    let mut cursor = String::new();
    loop {
        let (_, page) = service.get(&format!("/v1/jobs?limit=3{cursor}")).await;
        let page_ids = ids(&page);
        sizes.push(page_ids.len());
        seen.extend(page_ids);
        service.create_shell("true").await;
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!((seen, sizes), (jobs, vec![3, 3, 1]), "the newest first");

    let (_, all) = service.get("/v1/jobs?limit=10").await;
    assert_eq!((ids(&all).len(), &all["next_cursor"]), (10, &Value::Null));
}

#[tokio::test]
async fn a_list_shows_twenty_jobs_unless_asked_for_more() {
    let service = Service::without_worker().await;
    for _ in 0..21 {
        service.create_shell("true").await;
    }
    assert_eq!(ids(&service.get("/v1/jobs").await.1).len(), 20);
    assert_eq!(ids(&service.get("/v1/jobs?limit=100").await.1).len(), 21);
}

#[tokio::test]
async fn a_list_is_narrowed_by_status_and_skill() {
    let mut service = Service::without_worker().await;
    let cancelled = service.create_shell("true").await;
    service
        .post(&format!("/v1/jobs/{cancelled}/cancel"), &Value::Null)
        .await;
    service.add_worker(&[]).await;
    let completed = service.create_shell("true").await;
    let of_html = json!({"skill": "html", "model": "script/bash", "prompt": bash("true")});
    let html = service.create(&of_html).await;
    let unreachable = json!({
        "skill": "shell", "model": "script/bash", "prompt": "x",
        "inputs": [{"url": "http://10.0.0.1/"}],
    });
    let failed = service.create(&unreachable).await;
    for job in [&completed, &html, &failed] {
        service.finished(job).await;
    }
    let tomorrow = chrono::Utc::now() + chrono::TimeDelta::days(1);
    let queued = service
        .create(
            &json!({"skill": "html", "model": "script/bash", "prompt": "x", "run_at": tomorrow}),
        )
        .await;

    let cases: [(&str, &[&String]); 9] = [
        ("status=cancelled", &[&cancelled]),
        ("status=completed", &[&html, &completed]),
        ("status=failed", &[&failed]),
        ("status=queued", &[&queued]),
        ("status=running", &[]),
        ("skill=html", &[&queued, &html]),
        ("skill=html&status=completed", &[&html]),
        ("skill=none", &[]),
        ("agent=none", &[]),
    ];
    for (filter, expected) in cases {
        let (status, page) = service.get(&format!("/v1/jobs?{filter}")).await;
        assert_eq!(status, 200, "{filter}");
        assert_eq!(ids(&page).iter().collect::<Vec<_>>(), expected, "{filter}");
    }
    // The cursor of a filtered list continues after the last job.
    let (_, first) = service.get("/v1/jobs?skill=shell&limit=1").await;
    let cursor = first["next_cursor"].as_str().unwrap();
    let (_, next) = service
        .get(&format!("/v1/jobs?skill=shell&limit=1&cursor={cursor}"))
        .await;
    assert_eq!((ids(&first), ids(&next)), (vec![failed], vec![completed]));
}

fn ids(page: &Value) -> Vec<String> {
    let jobs = page["data"].as_array().unwrap().iter();
    jobs.map(|job| job["id"].as_str().unwrap().to_owned())
        .collect()
}
