//! Limits on concurrent model calls.

use serde_json::json;
use tests::model_server::Reply;

use super::{CLAUDE, service};
use crate::support::log::data;
use crate::support::{scripted, until};

#[tokio::test]
async fn a_killed_worker_gives_back_what_it_held() {
    let mut service = service("max_concurrent = 1\n").await;
    service.add_worker(&[("SKILLET_SLOTS", "1")]).await;
    service
        .model
        .script("held", [Reply::stall(), Reply::text("resumed")]);
    service.model.script("waits", [Reply::text("at last")]);
    let held = service.create(&scripted(CLAUDE, "held")).await;
    service.model.stalled("held").await;
    service.add_worker(&[("SKILLET_SLOTS", "2")]).await;
    let waits = service.create(&scripted(CLAUDE, "waits")).await;
    until(async || !data(&service.events(&waits).await, "log").is_empty()).await;
    assert_eq!(
        service.model.requests("waits").len(),
        0,
        "one call is in progress"
    );

    service.workers[0].kill();
    let waits = service.finished(&waits).await;
    assert_eq!(
        (&waits["text"], &waits["attempt"]),
        (&json!("at last"), &json!(1))
    );
    assert_eq!(service.finished(&held).await["text"], "resumed");
    assert_eq!(service.model.violations(), [""; 0]);
}
