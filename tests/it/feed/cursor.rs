//! Cursors of the feed: continuation and expiry.

use reqwest::Method;
use serde_json::{Value, json};

use super::{id, milestones, of_log, open, until_ends};
use crate::support::problem::Problem;
use crate::support::{Service, Stream, parse, until};

#[tokio::test]
async fn a_list_and_the_stream_from_its_cursor_have_no_gap() {
    let mut service = Service::without_worker().await;
    let before = service.create_shell("true").await;
    let (mut stream, cursor) = open(&service, "").await;
    let (_, listed) = service.get("/v1/jobs").await;
    assert_eq!(listed["data"][0]["id"], *before);
    assert_eq!(listed["data"][0]["status"], "queued");
    service.add_worker(&[]).await;
    service.finished(&before).await;
    let after = service.create_shell("true").await;
    let events = until_ends(&mut stream, 2).await;
    let jobs = [before.clone(), after];
    let logs = milestones(&service, &jobs).await;
    for job in &jobs {
        let mut expected = logs[job].clone();
        // The job was accepted before the first stream, so the feed does not have this event.
        expected.retain(|(_, kind)| *job != before || kind != "job.queued");
        let data: Vec<_> = events.iter().map(|raw| parse(raw)).collect();
        let of_job: Vec<_> = data
            .into_iter()
            .filter(|event| event["job_id"] == **job)
            .collect();
        assert_eq!(of_log(&of_job), expected);
    }
    let (status, page) = service.get(&format!("/v1/events?after={cursor}")).await;
    assert_eq!(status, 200);
    let listed = page["data"].as_array().unwrap();
    assert!(
        listed
            .iter()
            .eq(&events.iter().map(|raw| parse(raw)).collect::<Vec<_>>())
    );

    // The cursor of a page is valid in the stream.
    let (_, page) = service
        .get(&format!("/v1/events?limit=2&after={cursor}"))
        .await;
    assert_eq!(page["cursor"], page["next_cursor"]);
    let path = format!(
        "/v1/events/stream?after={}",
        page["cursor"].as_str().unwrap()
    );
    let mut stream = Stream::open(service.request(Method::GET, &path)).await;
    stream.next_raw().await.unwrap();
    assert_eq!(stream.next_raw().await.as_ref(), Some(&events[2]));
}

#[tokio::test]
async fn a_job_has_no_row_in_the_feed_before_someone_asks() {
    let service = Service::start().await;
    let job = service.create_shell("true").await;
    service.finished(&job).await;
    let count = sqlx::query_scalar::<_, i64>("select count(*) from feed");
    assert_eq!(count.fetch_one(&service.pool).await.unwrap(), 0);
    let (status, page) = service.get("/v1/events").await;
    assert_eq!(status, 200);
    assert_eq!(
        (&page["data"], &page["next_cursor"]),
        (&json!([]), &Value::Null)
    );
    let job = service.create_shell("true").await;
    service.finished(&job).await;
    let after = page["cursor"].as_str().unwrap();
    let expected = of_log(&service.events(&job).await);
    // Another transaction may hold back the horizon for a moment.
    until(async || {
        let (_, page) = service.get(&format!("/v1/events?after={after}")).await;
        of_log(page["data"].as_array().unwrap()) == expected
    })
    .await;
}

#[tokio::test]
async fn a_cursor_that_is_none_or_too_old_is_refused() {
    let service = Service::start().await;
    let (mut stream, cursor) = open(&service, "").await;
    let job = service.create_shell("true").await;
    let events = until_ends(&mut stream, 1).await;
    for path in [
        "/v1/events?after=x",
        "/v1/events?cursor=MQ",
        "/v1/events/stream?after=7",
    ] {
        let problem = Problem::of(service.request(Method::GET, path)).await;
        assert_eq!(problem.kind(), (400, "malformed_request"), "{path}");
    }
    let expired = async |cursor: &str| {
        for path in ["/v1/events", "/v1/events/stream"] {
            let path = format!("{path}?after={cursor}");
            let problem = Problem::of(service.request(Method::GET, &path)).await;
            assert_eq!(problem.kind(), (410, "cursor_expired"), "{path}");
        }
        let request = service.request(Method::GET, "/v1/events/stream");
        let request = request.header("Last-Event-ID", cursor);
        assert_eq!(Problem::of(request).await.code(), "cursor_expired");
    };
    // No event is old enough for this cutoff.
    let day = chrono::TimeDelta::days(1);
    let cutoff = shared::db::now(&service.pool).await.unwrap() - day;
    shared::db::feed::advance_floor(&service.pool, cutoff)
        .await
        .unwrap();
    assert_eq!(
        service.get(&format!("/v1/events?after={cursor}")).await.0,
        200
    );
    // Simulate a retention period that ended just before the last event.
    let old =
        "update feed set at = at - interval '2 days' where txid < (select max(txid) from feed)";
    sqlx::query(old).execute(&service.pool).await.unwrap();
    shared::db::feed::advance_floor(&service.pool, cutoff)
        .await
        .unwrap();
    expired(&cursor).await;
    let path = format!("/v1/events?after={}", id(events.last().unwrap()));
    assert_eq!(service.get(&path).await.0, 200, "the last event of {job}");

    // Simulate a restore of the database in another cluster.
    sqlx::query("update feed_state set system_identifier = system_identifier + 1")
        .execute(&service.pool)
        .await
        .unwrap();
    let _second = service.start_second_api(&[]);
    until(async || {
        let epoch = sqlx::query_scalar::<_, i32>("select epoch from feed_state");
        epoch.fetch_one(&service.pool).await.unwrap() == 2
    })
    .await;
    expired(id(events.last().unwrap())).await;
    let (mut stream, _) = open(&service, "").await;
    service.create_shell("true").await;
    until_ends(&mut stream, 1).await;
}

#[tokio::test]
async fn a_feed_that_nobody_used_for_30_days_ends_and_its_cursors_expire() {
    let service = Service::start().await;
    let (mut stream, cursor) = open(&service, "").await;
    let job = service.create_shell("true").await;
    until_ends(&mut stream, 1).await;
    drop(stream);
    sqlx::query("update feed_tenant set used_at = used_at - interval '31 days'")
        .execute(&service.pool)
        .await
        .unwrap();
    shared::db::feed::clear_unused(&service.pool).await.unwrap();
    let unseen = service.create_shell("true").await;
    service.finished(&unseen).await;
    let path = format!("/v1/events?after={cursor}");
    let problem = Problem::of(service.request(Method::GET, &path)).await;
    assert_eq!(problem.kind(), (410, "cursor_expired"), "{job}");
}
