//! Creation, retrieval, update and deletion of schedules.

use reqwest::Method;
use serde_json::{Value, json};

use super::{count, create, hourly, hourly_with};
use crate::support::{Service, send};

#[tokio::test]
async fn a_schedule_is_shown_as_it_was_given_with_its_next_five_times() {
    let service = Service::without_worker().await;
    let job = json!({"skill": "shell", "model": "script/bash", "prompt": "Nothing.", "metadata": {"a": 1}});
    let given = json!({
        "name": "new year",
        "cron": "0 9 1 1 *",
        "time_zone": "Europe/Berlin",
        "job": job,
        "starts_at": "2030-06-01T00:00:00Z",
    });
    let path = create(&service, &given).await;
    let (status, mut schedule) = service.get(&path).await;
    assert_eq!(status, 200);
    for field in ["id", "created_at", "updated_at"] {
        assert!(schedule[field].take().is_string(), "{field}");
    }
    let times =
        ["2031", "2032", "2033", "2034", "2035"].map(|year| format!("{year}-01-01T08:00:00Z"));
    for (field, value) in job.as_object().unwrap() {
        assert_eq!(schedule["job"][field], *value, "{field}");
    }
    schedule["job"].take();
    let expected = json!({
        "id": null,
        "name": "new year",
        "cron": "0 9 1 1 *",
        "time_zone": "Europe/Berlin",
        "interval_seconds": null,
        "job": null,
        "paused": false,
        "overlap": "skip",
        "catch_up": "one",
        "catch_up_limit": 10,
        "jitter_seconds": 0,
        "starts_at": "2030-06-01T00:00:00Z",
        "ends_at": null,
        "next_times": times,
        "created_at": null,
        "updated_at": null,
    });
    assert_eq!(schedule, expected);
}

#[tokio::test]
async fn schedules_are_listed_page_by_page_and_removed() {
    let service = Service::without_worker().await;
    let mut paths = Vec::new();
    for name in ["a", "b", "c"] {
        paths.push(create(&service, &hourly(name)).await);
    }
    let (_, first) = service.get("/v1/schedules?limit=2").await;
    let cursor = first["next_cursor"].as_str().unwrap();
    let (_, second) = service
        .get(&format!("/v1/schedules?limit=2&cursor={cursor}"))
        .await;
    let names = |page: &Value| {
        let data = page["data"].as_array().unwrap();
        data.iter()
            .map(|it| it["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (names(&first), names(&second)),
        (vec!["c".into(), "b".into()], vec!["a".into()])
    );
    let delete = || service.request(Method::DELETE, &paths[0]).send();
    assert_eq!(delete().await.unwrap().status(), 204);
    assert_eq!(delete().await.unwrap().status(), 404);
    assert_eq!(service.get(&paths[0]).await.0, 404);
}

#[tokio::test]
async fn a_change_that_repeats_the_settings_skips_no_time_that_is_due() {
    let service = Service::without_worker().await;
    let daily = json!({"cron": "0 9 * * *", "interval_seconds": null});
    let path = create(&service, &hourly_with("a", daily)).await;
    let due = "update schedule set next_at = now() - interval '5 minutes'";
    sqlx::query(due).execute(&service.pool).await.unwrap();
    let is_due = "select count(*) from schedule where next_at < now()";
    let same = json!({"cron": "0 9 * * *", "paused": false, "catch_up": "one"});
    assert_eq!(service.patch(&path, &same).await.0, 200);
    assert_eq!(count(&service, is_due).await, 1);
    let later = json!({"cron": "0 10 * * *"});
    assert_eq!(service.patch(&path, &later).await.0, 200);
    assert_eq!(count(&service, is_due).await, 0);
}

#[tokio::test]
async fn a_change_keeps_what_it_does_not_name() {
    let service = Service::without_worker().await;
    let fields = json!({"jitter_seconds": 5, "ends_at": "2100-01-01T00:00:00Z"});
    let path = create(&service, &hourly_with("a", fields)).await;
    let (_, before) = service.get(&path).await;
    let (status, paused) = service.patch(&path, &json!({"paused": true})).await;
    assert_eq!((status.as_u16(), &paused["next_times"]), (200, &json!([])));
    let change = json!({"paused": false, "cron": "@daily", "time_zone": "Asia/Tokyo", "ends_at": null, "name": "b"});
    let (status, after) = service.patch(&path, &change).await;
    assert_eq!(status, 200, "{after:#}");
    for field in ["id", "job", "jitter_seconds", "overlap", "created_at"] {
        assert_eq!(after[field], before[field], "{field}");
    }
    for (field, value) in [
        ("name", json!("b")),
        ("cron", json!("@daily")),
        ("time_zone", json!("Asia/Tokyo")),
        ("interval_seconds", Value::Null),
        ("ends_at", Value::Null),
    ] {
        assert_eq!(after[field], value, "{field}");
    }
    let times = after["next_times"].as_array().unwrap();
    assert!(
        times
            .iter()
            .all(|time| time.as_str().unwrap().ends_with("T15:00:00Z")),
        "{times:?}"
    );
    let (_, back) = service
        .patch(&path, &json!({"interval_seconds": 3600}))
        .await;
    let shown = (&back["cron"], &back["time_zone"], &back["interval_seconds"]);
    assert_eq!(shown, (&Value::Null, &Value::Null, &json!(3600)));
}

#[tokio::test]
async fn a_schedule_past_its_end_can_be_paused_and_resumed() {
    let service = Service::without_worker().await;
    let path = create(
        &service,
        &hourly_with("ends", json!({"ends_at": "2999-01-01T00:00:00Z"})),
    )
    .await;
    let end = "update schedule set ends_at = now() - interval '1 hour', next_at = null";
    sqlx::query(end).execute(&service.pool).await.unwrap();
    for paused in [true, false] {
        let (status, schedule) = service.patch(&path, &json!({ "paused": paused })).await;
        assert_eq!(status, 200, "{schedule:#}");
        assert_eq!(
            (&schedule["paused"], &schedule["next_times"]),
            (&json!(paused), &json!([]))
        );
    }
    let (status, refusal) = service.patch(&path, &json!({"interval_seconds": 60})).await;
    assert_eq!(
        (status.as_u16(), &refusal["errors"][0]["pointer"]),
        (422, &json!("/ends_at"))
    );
}

#[tokio::test]
async fn the_times_of_a_schedule_are_known_before_it_is_stored() {
    let service = Service::without_worker().await;
    let preview = async |body: Value| {
        let request = service.request(Method::POST, "/v1/schedules/preview");
        let (status, answer) = send(request.json(&body)).await;
        (status.as_u16(), answer)
    };
    let new_year = json!({
        "cron": "0 9 1 1 *",
        "time_zone": "Europe/Berlin",
        "starts_at": "2030-06-01T00:00:00Z",
        "ends_at": "2033-02-01T00:00:00Z",
    });
    let times = ["2031", "2032", "2033"].map(|year| format!("{year}-01-01T08:00:00Z"));
    assert_eq!(preview(new_year).await, (200, json!({"next_times": times})));
    let (status, every_hour) = preview(json!({"interval_seconds": 3600})).await;
    assert_eq!(
        (status, every_hour["next_times"].as_array().unwrap().len()),
        (200, 5)
    );
    for (body, pointer) in [
        (json!({"cron": "61 * * * *"}), "/cron"),
        (
            json!({"cron": "@daily", "time_zone": "Mars/Base"}),
            "/time_zone",
        ),
        (json!({"interval_seconds": 1}), "/interval_seconds"),
        (json!({}), ""),
    ] {
        let (status, problem) = preview(body.clone()).await;
        assert_eq!(
            (status, &problem["errors"][0]["pointer"]),
            (422, &json!(pointer)),
            "{body}"
        );
    }
    let (_, list) = service.get("/v1/schedules").await;
    assert_eq!(list["data"], json!([]));
}
