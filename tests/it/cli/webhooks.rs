//! Webhook commands.

use serde_json::json;
use shared::webhook::WebhookSecret;
use tokio::io::{AsyncBufReadExt, BufReader};

use super::at;
use crate::support::receiver::{Behavior, Receiver};
use crate::support::{Service, until};

const URL: &str = "http://127.0.0.1:65533/hook";

#[tokio::test]
async fn a_webhook_is_created_changed_tested_paused_and_deleted() {
    let mut service = Service::with_environment(&[("SKILLET_WEBHOOK_ALLOW", "127.0.0.0/8")]).await;
    service.add_worker(&[]).await;
    let terminal = at(&service);
    let create = [
        "webhooks",
        "create",
        URL,
        "--events",
        "job.failed,job.completed",
        "--skill",
        "image",
        "--include-job",
        "--json",
    ];
    let created = terminal.run(&create).await.objects().remove(0);
    assert!(created["secret"].as_str().unwrap().starts_with("whsec_"));
    let shown = (&created["events"], &created["skills"], &created["include"]);
    assert_eq!(
        shown,
        (
            &json!(["job.completed", "job.failed"]),
            &json!(["image"]),
            &json!("job")
        )
    );
    let id = created["id"].as_str().unwrap();
    let listed = terminal.run(&["webhooks"]).await;
    assert!(
        listed
            .out
            .contains("active\t\tjob.completed, job.failed\thttp://"),
        "{listed:?}"
    );
    let update = [
        "webhooks",
        "update",
        id,
        "--description",
        "shop",
        "--exclude-job",
        "--json",
    ];
    let updated = terminal.run(&update).await.objects().remove(0);
    assert_eq!(
        (&updated["description"], &updated["include"]),
        (&json!("shop"), &json!(null))
    );

    // Nothing listens at this URL.
    let tested = terminal.run(&["webhooks", "test", id, "--json"]).await;
    assert_eq!(tested.code, Some(1), "{tested:?}");
    let delivery = tested.objects().remove(0);
    assert_eq!(delivery["status"], "dead");
    let deliveries = terminal.run(&["webhooks", "deliveries", id]).await;
    assert!(
        deliveries
            .out
            .contains("dead\t1\t\twebhook.test\t\tcannot be reached"),
        "{deliveries:?}"
    );
    let delivery = delivery["id"].as_str().unwrap();
    let again = terminal
        .run(&["webhooks", "redeliver", delivery, "--webhook", id])
        .await;
    assert_eq!(again.out, format!("redelivered {delivery}\n"));
    let recover = ["webhooks", "recover", id, "--since", "2026-01-01T00:00:00Z"];
    assert_eq!(
        terminal.run(&recover).await.out,
        "0 deliveries queued again\n"
    );

    let recover = ["webhooks", "recover", id, "--since", "12h"];
    assert_eq!(terminal.run(&recover).await.code, Some(0));

    let paused = terminal.run(&["webhooks", "pause", id]).await;
    assert_eq!(paused.out, format!("paused {id}\n"));
    let resumed = terminal.run(&["webhooks", "resume", id, "--json"]).await;
    assert_eq!(resumed.objects(), [json!({"id": id, "resumed": true})]);
    let rotated = terminal.run(&["webhooks", "rotate", id]).await;
    assert!(rotated.out.starts_with("whsec_"), "{rotated:?}");
    assert_ne!(rotated.out.trim(), created["secret"].as_str().unwrap());
    let secret = terminal.run(&["webhooks", "secret"]).await;
    let new = terminal.run(&["webhooks", "secret", "--rotate"]).await;
    assert!(secret.out.starts_with("whsec_") && secret.out != new.out);
    let deleted = terminal.run(&["webhooks", "delete", id]).await;
    assert_eq!(deleted.out, format!("deleted {id}\n"));
}

#[tokio::test]
async fn a_list_says_what_fails_and_what_is_disabled_and_since_when() {
    let mut service = Service::with_environment(&[("SKILLET_WEBHOOK_ALLOW", "127.0.0.0/8")]).await;
    service.add_worker(&[]).await;
    let terminal = at(&service);
    let receiver = Receiver::start(Behavior::Answer(500, "", "")).await;
    let create = ["webhooks", "create", &receiver.url, "--json"];
    let created = terminal.run(&create).await.objects().remove(0);
    let path = format!("/v1/webhooks/{}", created["id"].as_str().unwrap());
    let expect = async |status: &str, since: &str| {
        until(async || {
            let (_, webhook) = service.get(&path).await;
            let Some(since) = webhook[since].as_str() else {
                return false;
            };
            let listed = terminal.run(&["webhooks"]).await.out;
            listed.contains(&format!("\t{status}\t{since}\t"))
        })
        .await;
    };
    service.create_shell("true").await;
    expect("failing", "failing_since").await;
    receiver.set(Behavior::Answer(410, "", ""));
    service.create_shell("true").await;
    expect("disabled: gone", "disabled_at").await;
}

#[tokio::test]
async fn what_is_missing_is_said() {
    let service = Service::without_worker().await;
    let terminal = at(&service);
    let id = "wh_019aa0c45e8d70008000000000000000";
    let nothing = terminal.run(&["webhooks", "update", id]).await;
    assert!(
        nothing.code == Some(1) && nothing.err.contains("no change given"),
        "{nothing:?}"
    );
    let whose = terminal.run(&["webhooks", "deliveries"]).await;
    assert_eq!(whose.code, Some(2), "{whose:?}");
    for url in ["localhost:3000", "nowhere", "file:///tmp"] {
        let listen = ["webhooks", "listen", "--forward-to", url];
        let no_url = terminal.run(&listen).await;
        assert!(
            no_url.code == Some(2) && no_url.err.contains("must be a URL such as"),
            "{no_url:?}"
        );
    }
    let private = terminal
        .run(&["webhooks", "create", "https://10.0.0.1/"])
        .await;
    assert!(
        private.code == Some(1) && private.err.contains("--webhook-allow"),
        "{private:?}"
    );
}

#[tokio::test]
async fn events_are_forwarded_to_a_local_address() {
    let service = Service::start().await;
    let terminal = at(&service);
    let receiver = Receiver::accepting().await;
    let secret = WebhookSecret::generate();
    let listen = [
        "webhooks",
        "listen",
        "--forward-to",
        &receiver.url,
        "--events",
        "job.completed,job.started",
        "--skill",
        "shell",
        "--secret",
        secret.reveal(),
    ];
    let mut listening = terminal.spawn(&listen);
    let mut said = BufReader::new(listening.stderr.take().unwrap()).lines();
    // The command reports when the stream is open.
    let first = said.next_line().await.unwrap().unwrap();
    assert!(first.starts_with("forwarding events to "), "{first}");
    let job = service.create_shell("true").await;
    let received = receiver.until(2).await;
    for (received, kind) in received.iter().zip(["job.started", "job.completed"]) {
        let content = received.verify(secret.reveal()).unwrap();
        let shown = (&content["type"], &content["data"]["job_id"]);
        assert_eq!(shown, (&json!(kind), &json!(job)));
    }
    let mut printed = BufReader::new(listening.stdout.take().unwrap()).lines();
    let line = printed.next_line().await.unwrap().unwrap();
    assert!(
        line.starts_with(&format!("job.started {job}: 204 in ")),
        "{line}"
    );
}
