//! Receivers that do not accept deliveries.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{ALLOW, Created, make_due, start};
use crate::support::receiver::{Behavior, Receiver};
use crate::support::{Service, until};

/// Returns a webhook and the delivery of a job's end, after the first attempt.
async fn attempted(service: &Service, receiver: &Receiver) -> (Created, Value) {
    let webhook = Created::at(service, receiver).await;
    service.create_shell("true").await;
    let mut delivery = Value::Null;
    until(async || {
        delivery = webhook.deliveries(service).await.pop().unwrap_or_default();
        delivery["last"].is_object()
    })
    .await;
    (webhook, delivery)
}

/// Returns the number of seconds from the last attempt to the next.
fn pause(delivery: &Value) -> f64 {
    let at = |value: &Value| value.as_str().unwrap().parse::<DateTime<Utc>>().unwrap();
    (at(&delivery["next_at"]) - at(&delivery["last"]["at"])).as_seconds_f64()
}

#[tokio::test]
async fn a_failed_attempt_is_repeated_by_the_schedule_until_it_is_given_up_and_can_be_redelivered()
{
    let service = start().await;
    let receiver = Receiver::start(Behavior::Answer(500, "", "out of order")).await;
    let (webhook, delivery) = attempted(&service, &receiver).await;
    let last = &delivery["last"];
    assert_eq!(
        (&delivery["status"], &last["status"], &last["response"]),
        (&json!("failed"), &json!(500), &json!("out of order"))
    );
    assert!((3.9..=6.1).contains(&pause(&delivery)), "{delivery:#}");
    assert!(webhook.get(&service).await["failing_since"].is_string());
    let mut delivery = delivery;
    for attempt in 2..=10 {
        make_due(&service).await;
        until(async || {
            delivery = webhook.deliveries(&service).await.pop().unwrap();
            delivery["attempts"] == attempt
        })
        .await;
        if attempt == 2 {
            assert!((239.9..=360.1).contains(&pause(&delivery)), "{delivery:#}");
        }
    }
    let shown = (&delivery["status"], &delivery["next_at"]);
    assert_eq!(shown, (&json!("dead"), &Value::Null));
    let received = receiver.received();
    assert_eq!(received.len(), 10);
    assert!(received.iter().all(|it| it.id() == received[0].id()
        && it.body == received[0].body
        && it.verify(&webhook.secret).is_ok()));

    receiver.set(Behavior::Answer(200, "", ""));
    let id = delivery["id"].as_str().unwrap();
    let redeliver = format!("{}/deliveries/{id}/redeliver", webhook.path);
    let (status, again) = service.post(&redeliver, &Value::Null).await;
    assert_eq!((status.as_u16(), &again["attempts"]), (200, &json!(0)));
    webhook.until_status(&service, "delivered").await;
    assert_eq!(receiver.received()[10].id(), received[0].id());
    assert_eq!(webhook.get(&service).await["failing_since"], Value::Null);
}

#[tokio::test]
async fn retry_after_is_honoured_within_bounds_and_an_overloaded_receiver_has_a_minute() {
    let service = start().await;
    for (behavior, pauses) in [
        (Behavior::Answer(503, "retry-after: 8\r\n", ""), 7.9..=8.1),
        (
            Behavior::Answer(503, "retry-after: 86400\r\n", ""),
            9.9..=10.1,
        ),
        (Behavior::Answer(429, "", ""), 59.9..=60.1),
    ] {
        let receiver = Receiver::start(behavior.clone()).await;
        let (webhook, delivery) = attempted(&service, &receiver).await;
        assert!(
            pauses.contains(&pause(&delivery)),
            "{behavior:?}: {delivery:#}"
        );
        webhook.set_status(&service, "paused").await;
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let service = start().await;
    let hidden = Receiver::accepting().await;
    let to_other: &'static str = format!("location: {}\r\n", hidden.url).leak();
    for location in [
        to_other,
        "location: http://169.254.169.254/latest/meta-data\r\n",
    ] {
        let receiver = Receiver::start(Behavior::Answer(302, location, "")).await;
        let (webhook, delivery) = attempted(&service, &receiver).await;
        let error = delivery["last"]["error"].as_str().unwrap();
        assert!(error.contains("redirects are not followed"), "{error}");
        webhook.set_status(&service, "paused").await;
    }
    assert_eq!(hidden.received().len(), 0);
}

#[tokio::test]
async fn of_a_gigabyte_four_kibibytes_are_kept() {
    let service = start().await;
    let receiver = Receiver::start(Behavior::Endless(200)).await;
    let (_, delivery) = attempted(&service, &receiver).await;
    assert_eq!(delivery["status"], "delivered");
    let response = delivery["last"]["response"].as_str().unwrap();
    assert_eq!(response.len(), 4096);
    assert!(receiver.sent() < 64 * 1024 * 1024, "{}", receiver.sent());
}

#[tokio::test]
async fn a_connection_that_closes_before_the_status_fails_and_after_it_not() {
    let service = start().await;
    let receiver = Receiver::start(Behavior::CloseEarly).await;
    let (webhook, delivery) = attempted(&service, &receiver).await;
    let last = &delivery["last"];
    assert_eq!(
        (&delivery["status"], &last["status"]),
        (&json!("failed"), &Value::Null)
    );
    assert!(
        last["error"]
            .as_str()
            .unwrap()
            .starts_with("no proper answer"),
        "{last}"
    );
    receiver.set(Behavior::CloseInBody);
    make_due(&service).await;
    let delivery = webhook.until_status(&service, "delivered").await;
    assert_eq!(delivery["last"]["response"], "half");
}

#[tokio::test]
async fn a_receiver_that_does_not_answer_is_left_after_fifteen_seconds() {
    let service = start().await;
    let receiver = Receiver::start(Behavior::Hang).await;
    let (_, delivery) = attempted(&service, &receiver).await;
    let last = &delivery["last"];
    assert_eq!(last["error"], "no answer within 15 s");
    let took = Duration::from_millis(last["ms"].as_u64().unwrap());
    assert!(took >= Duration::from_secs(15), "{took:?}");
}

#[tokio::test]
async fn an_address_is_judged_at_the_connection_and_a_refusal_is_final() {
    let mut service = Service::with_environment(&[ALLOW]).await;
    // The worker may not connect to the address that the API allowed, as if the address of the host name had changed.
    service.add_worker(&[(ALLOW.0, "10.9.8.0/24")]).await;
    let receiver = Receiver::accepting().await;
    let literal = Created::at(&service, &receiver).await;
    let by_name = json!({"url": receiver.url.replace("127.0.0.1", "localhost")});
    let by_name = Created::with(&service, &by_name).await;
    let metadata = Created::with(&service, &json!({"url": receiver.url})).await;
    let change = "update webhook set url = 'https://169.254.169.254/latest' where id::text = $1";
    let id = metadata.path.rsplit('_').next().unwrap();
    let id = uuid::Uuid::parse_str(id).unwrap().to_string();
    sqlx::query(change)
        .bind(id)
        .execute(&service.pool)
        .await
        .unwrap();
    service.create_shell("true").await;
    for webhook in [literal, by_name, metadata] {
        let delivery = webhook.until_status(&service, "dead").await;
        let error = delivery["last"]["error"].as_str().unwrap();
        assert!(error.starts_with("address_refused"), "{error}");
        assert_eq!(
            (&delivery["attempts"], &delivery["next_at"]),
            (&json!(1), &Value::Null)
        );
    }
    assert_eq!(receiver.received().len(), 0);
}
