//! A failing receiver next to a working one.

use serde_json::json;

use super::{Created, make_due, start};
use crate::support::receiver::{Behavior, Receiver};
use crate::support::until;

#[tokio::test]
async fn a_dead_receiver_holds_up_no_other() {
    let service = start().await;
    let dead = Receiver::start(Behavior::Hang).await;
    let live = Receiver::accepting().await;
    let to_dead = Created::at(&service, &dead).await;
    Created::at(&service, &live).await;
    for _ in 0..40 {
        service.create_shell("true").await;
    }
    live.until(40).await;
    assert!(dead.received().len() <= 5, "no attempt has ended yet");
    assert!(dead.most_open() <= 5);
    let waiting = to_dead.deliveries(&service).await;
    assert!(
        waiting.iter().all(|it| it["status"] == "pending"),
        "{waiting:#?}"
    );
}

#[tokio::test]
async fn after_five_failures_there_is_one_attempt_at_a_time() {
    let service = start().await;
    let receiver = Receiver::start(Behavior::Answer(500, "", "")).await;
    let webhook = Created::at(&service, &receiver).await;
    for _ in 0..8 {
        service.create_shell("true").await;
    }
    until(async || {
        let all = webhook.deliveries(&service).await;
        all.len() == 8 && all.iter().all(|it| it["status"] == "failed")
    })
    .await;
    let careful = Receiver::start(Behavior::Hang).await;
    let change = json!({"url": careful.url});
    assert_eq!(service.patch(&webhook.path, &change).await.0, 200);
    make_due(&service).await;
    careful.until(1).await;
    // Another claim finds the eight deliveries due, but no free slot.
    make_due_state(&service).await;
    careful.until(1).await;
    assert_eq!(careful.most_open(), 1);
}

/// Makes a claim check all webhooks, and waits until it has done so.
async fn make_due_state(service: &crate::support::Service) {
    let look = "update webhook_state set next_at = now()";
    sqlx::query(look).execute(&service.pool).await.unwrap();
    sqlx::query("select pg_notify('skillet_webhook', '')")
        .execute(&service.pool)
        .await
        .unwrap();
    until(async || {
        let waits = "select count(*) from webhook_state where next_at > now()";
        let waits: i64 = sqlx::query_scalar(waits)
            .fetch_one(&service.pool)
            .await
            .unwrap();
        waits == 1
    })
    .await;
}
