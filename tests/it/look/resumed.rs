//! Images of tool results after the worker was killed.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tests::model_server::Reply;

use super::{BOTH, images, job, png, service, with_file};
use crate::support::until;

#[tokio::test]
async fn another_worker_shows_the_images_that_the_model_still_saw() {
    for model in BOTH {
        let mut service = service().await;
        let asked = AtomicUsize::new(0);
        service
            .model
            .script_with("shown", move |request| match request.turn() {
                turn @ 0..9 => {
                    Reply::call("look_at", json!({"path": "grey.png", "width": 300 + turn}))
                }
                _ if asked.fetch_add(1, Ordering::Relaxed) == 0 => Reply::stall(),
                _ => Reply::text("Seen twice."),
            });
        let body = with_file(&service, job(model, "shown"), "grey.png", png(64, 48)).await;
        let mut body = body;
        body["limits"] = json!({"max_iterations": 20});
        let id = service.create(&body).await;
        service.model.stalled("shown").await;
        service.workers[0].kill();
        service.add_worker(&[]).await;
        let ended = service.finished(&id).await;
        assert_eq!(
            ended["text"],
            "Seen twice.",
            "{ended:#}\n{}",
            service.logs()
        );
        let requests = service.model.requests("shown");
        let [.., before, after] = &requests[..] else {
            panic!("the last question was asked twice");
        };
        assert_eq!(images(before).len(), 4);
        assert_eq!(images(before), images(after));
        assert_eq!(service.model.violations(), [""; 0]);
        // The images are deleted when the job ends.
        let kept = service.home.path().join("assets/workspaces");
        until(async || !kept.exists()).await;
    }
}
