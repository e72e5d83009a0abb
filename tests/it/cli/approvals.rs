//! Approval prompts during an outage of the service.

use serde_json::json;
use tests::model_server::Reply;

use super::at;
use crate::support::{Service, Tty};

const QUESTION: &str = "approve? yes, no, or a reason to deny: ";

#[tokio::test]
async fn an_answer_that_the_service_did_not_receive_is_asked_for_again() {
    let mut service = Service::start().await;
    let call = Reply::call("shell_exec", json!({"command": "true"}));
    service.model.script("outage", [call, Reply::text("Done.")]);
    let job = json!({
        "agent": "default", "model": "anthropic/claude-test", "prompt": "Do it. #outage",
        "hooks": {"confirm": ["shell.*"]},
    });
    let job = service.create(&job).await;
    let mut tty = Tty::spawn(&at(&service), &["watch", &job]);
    tty.until_shown(QUESTION, 1).await;
    service.api.kill();
    tty.type_line("yes");
    tty.until_shown("  ! cannot reach ", 1).await;
    tty.until_shown(QUESTION, 2).await;
    service.restart_api();
    tty.type_line("yes");
    assert_eq!(tty.ended().await, Some(0), "{}", tty.shown());
    assert!(tty.shown().contains("Done."), "{}", tty.shown());
    assert!(!tty.shown().contains("elsewhere"), "{}", tty.shown());
}
