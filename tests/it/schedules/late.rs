//! Missed times while no worker ran, and pauses.

use serde_json::json;

use super::{count, create, hourly, hourly_with, pass_hours, pause_queue, runs, settled, states};
use crate::support::{Service, until};

#[tokio::test]
async fn missed_times_are_skipped_run_once_or_run_up_to_the_limit() {
    let mut service = Service::without_worker().await;
    pause_queue(&service).await;
    let mut paths = Vec::new();
    for (catch_up, limit) in [("none", 10), ("one", 10), ("all", 3)] {
        let fields = json!({
            "catch_up": catch_up, "catch_up_limit": limit, "overlap": "cancel_running",
        });
        paths.push(create(&service, &hourly_with(catch_up, fields)).await);
    }
    // The fifth hour began half an hour ago.
    pass_hours(&service, 5.5).await;
    service.add_worker(&[]).await;
    let none = settled(&service, &paths[0], 1).await;
    assert_eq!(states(&none), ["missed"]);
    assert_ne!(none[0]["missed_until"], json!(null));
    let one = settled(&service, &paths[1], 2).await;
    assert_eq!(states(&one), ["missed", "started"]);
    let all = settled(&service, &paths[2], 4).await;
    assert_eq!(states(&all), ["missed", "started", "started", "started"]);
    let (_, schedule) = service.get(&paths[2]).await;
    assert_ne!(schedule["next_times"], json!([]));
}

#[tokio::test]
async fn times_of_a_pause_are_not_caught_up() {
    let service = Service::start().await;
    let paused = create(&service, &hourly_with("paused", json!({"paused": true}))).await;
    let other = create(&service, &hourly("other")).await;
    pass_hours(&service, 10.0).await;
    settled(&service, &other, 2).await;
    assert_eq!(runs(&service, &paused).await.len(), 0);
    let (status, _) = service.patch(&paused, &json!({"paused": false})).await;
    assert_eq!(status, 200);
    assert_eq!(runs(&service, &paused).await.len(), 0);
    pass_hours(&service, 1.0).await;
    let found = settled(&service, &paused, 1).await;
    assert_eq!(states(&found), ["started"]);
}

#[tokio::test]
async fn a_clock_that_goes_back_runs_no_time_twice() {
    let service = Service::start().await;
    let path = create(&service, &hourly("back")).await;
    pass_hours(&service, 1.2).await;
    let first = settled(&service, &path, 1).await;
    service.finished(first[0]["job_id"].as_str().unwrap()).await;
    // Move the clock back, so that the time that has already run comes again. After a pause, the next time is counted
    // from now.
    pass_hours(&service, -1.0).await;
    for paused in [true, false] {
        let (status, _) = service.patch(&path, &json!({"paused": paused})).await;
        assert_eq!(status, 200);
    }
    let is_due =
        "select count(*) from schedule where next_at between now() and now() + interval '1 hour'";
    assert_eq!(count(&service, is_due).await, 1, "within an hour");
    pass_hours(&service, 0.9).await;
    until(async || count(&service, is_due).await == 1).await;
    assert_eq!(runs(&service, &path).await.len(), 1);
    pass_hours(&service, 1.0).await;
    let both = settled(&service, &path, 2).await;
    assert_eq!(states(&both), ["started", "started"]);
    assert_eq!(count(&service, "select count(*) from job").await, 2);
}
