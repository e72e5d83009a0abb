//! Workers that are killed, and several workers.

use std::collections::BTreeMap;

use super::{ALLOW, Created, start};
use crate::support::receiver::{Behavior, Receiver};
use crate::support::until;

#[tokio::test]
async fn what_a_killed_worker_had_claimed_is_delivered_by_another() {
    let mut service = start().await;
    let receiver = Receiver::start(Behavior::Hang).await;
    let webhook = Created::at(&service, &receiver).await;
    service.create_shell("true").await;
    receiver.until(1).await;
    service.workers.remove(0).kill();
    receiver.set(Behavior::Answer(204, "", ""));
    service.add_worker(&[ALLOW]).await;
    let deliveries = webhook.deliveries(&service).await;
    assert_eq!(deliveries[0]["status"], "pending", "it is claimed for 30 s");
    for expire in [
        "update webhook_delivery set due_at = now() where claim is not null",
        "update webhook_state set next_at = now()",
    ] {
        sqlx::query(expire).execute(&service.pool).await.unwrap();
    }
    webhook.until_status(&service, "delivered").await;
    let received = receiver.received();
    assert_eq!(received.len(), 2);
    assert_eq!(received[0].id(), received[1].id());
}

#[tokio::test]
async fn several_workers_deliver_each_event_once() {
    let mut service = start().await;
    service.add_worker(&[]).await;
    service.add_worker(&[]).await;
    let receivers = [Receiver::accepting().await, Receiver::accepting().await];
    let mut webhooks = Vec::new();
    for receiver in &receivers {
        webhooks.push(Created::at(&service, receiver).await);
    }
    for _ in 0..40 {
        service.create_shell("true").await;
    }
    for (webhook, receiver) in webhooks.iter().zip(&receivers) {
        until(async || {
            let all = webhook.deliveries(&service).await;
            all.len() == 40 && all.iter().all(|it| it["status"] == "delivered")
        })
        .await;
        let mut times = BTreeMap::new();
        for received in receiver.received() {
            *times.entry(received.id().to_owned()).or_insert(0) += 1;
        }
        assert_eq!(times.len(), 40);
        assert!(times.values().all(|count| *count == 1), "{times:?}");
        assert!(receiver.most_open() <= 5, "{}", receiver.most_open());
    }
}
