//! Commands for assets, conversations, tenants and the queue.

use serde_json::json;

use super::at;
use crate::support::{Service, bash};

#[tokio::test]
async fn files_are_uploaded_shown_downloaded_and_deleted() {
    let service = Service::without_worker().await;
    let terminal = at(&service);
    std::fs::write(terminal.folder.path().join("a.txt"), "hello").unwrap();
    let uploaded = terminal.run(&["assets", "upload", "a.txt", "-q"]).await;
    let id = uploaded.out.trim();
    let shown = terminal.run(&["assets", "get", id]).await;
    assert!(
        shown
            .out
            .starts_with(&format!("id            {id}\nname          a.txt\n")),
        "{shown:?}"
    );
    let saved = terminal.run(&["assets", "download", id]).await;
    assert_eq!(saved.out, "./a-2.txt\n", "{saved:?}");
    assert_eq!(terminal.read("a-2.txt"), "hello");
    let listed = terminal.run(&["assets", "list", "--json"]).await;
    assert_eq!(listed.objects()[0]["size"], json!(5));
    let deleted = terminal.run(&["assets", "delete", id, "--json"]).await;
    assert_eq!(deleted.objects(), [json!({"id": id, "deleted": true})]);
    let again = terminal.run(&["assets", "delete", id]).await;
    assert_eq!(again.code, Some(1), "{again:?}");
    let wrong = terminal.run(&["jobs", "get", id]).await;
    assert!(
        wrong.code == Some(2) && wrong.err.contains("this is the id of an asset"),
        "{wrong:?}"
    );
}

#[tokio::test]
async fn a_conversation_is_created_once_and_shows_what_was_said() {
    let service = Service::start().await;
    let terminal = at(&service);
    let agent =
        json!({"name": "sh", "soul": "I am.", "tools": ["shell.exec"], "model": "script/bash"});
    std::fs::write(terminal.folder.path().join("sh.json"), agent.to_string()).unwrap();
    terminal.run(&["agents", "apply", "-f", "sh.json"]).await;
    let create = [
        "conversations",
        "create",
        "--agent",
        "sh",
        "--external-id",
        "ticket-7",
    ];
    let talk = terminal.run(&create).await.out;
    assert_eq!(terminal.run(&create).await.out, talk, "the same one");
    let talk = talk.trim();
    let prompt = bash("echo heard");
    let ran = terminal
        .run(&["run", "-a", "sh", "-c", talk, &prompt])
        .await;
    assert_eq!(ran.out, "heard\n", "{ran:?}");
    let shown = terminal.run(&["conversations", "get", talk]).await;
    assert!(shown.out.contains("\nexternal_id  ticket-7\n"), "{shown:?}");
    assert!(
        shown.out.contains("\nuser: ") && shown.out.contains("\nassistant: heard\n"),
        "{shown:?}"
    );
    let deleted = terminal.run(&["conversations", "delete", talk]).await;
    assert_eq!(deleted.out, format!("deleted {talk}\n"));
}

#[tokio::test]
async fn a_tenant_is_named_by_its_name_and_changed_in_parts() {
    let service = Service::without_worker().await;
    let terminal = at(&service);
    let created = terminal.run(&["tenants", "create", "acme"]).await;
    assert_eq!(created.code, Some(0), "{created:?}");
    let update = async |arguments: &[&str]| {
        let arguments = [&["tenants", "update", "acme", "--json"], arguments].concat();
        let ran = terminal.run(&arguments).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.objects().remove(0)
    };
    let first = [
        "--weight",
        "3",
        "--max-cost-usd",
        "1.5",
        "--max-queued",
        "10",
        "--jobs-per-minute",
        "60",
    ];
    let tenant = update(&first).await;
    assert_eq!(
        (&tenant["weight"], &tenant["budget"]["max_cost_usd"]),
        (&json!(3), &json!(1.5))
    );
    let tenant = update(&["--max-total-tokens", "1000", "--max-queued", "none"]).await;
    let budget = &tenant["budget"];
    assert_eq!(
        (&budget["max_cost_usd"], &budget["max_total_tokens"]),
        (&json!(1.5), &json!(1000))
    );
    let limits = &tenant["submission_limits"];
    assert_eq!(
        (&limits["max_queued"], &limits["submit_rate"]["per_minute"]),
        (&json!(null), &json!(60))
    );
    let wrong = terminal
        .run(&["tenants", "update", "acme", "--max-running", "many"])
        .await;
    assert!(
        wrong.code == Some(2) && wrong.err.contains("must be a number, or `none`"),
        "{wrong:?}"
    );
    let absent = terminal.run(&["tenants", "get", "nobody"]).await;
    assert_eq!(
        absent.err,
        "error: there is no tenant `nobody`: see `skillet tenants`\n"
    );
    let deleted = terminal.run(&["tenants", "delete", "acme"]).await;
    assert!(deleted.out.starts_with("deleted ten_"), "{deleted:?}");
}

#[tokio::test]
async fn a_skill_that_no_worker_can_run_is_told_when_it_is_pushed() {
    let service = Service::start().await;
    let terminal = at(&service);
    let folder = terminal.folder.path().join("rare");
    std::fs::create_dir(&folder).unwrap();
    let text = "---\nname: rare\ndescription: Uses a rare program.\nallowed-tools: shell.exec\nmetadata:\n  \
                skillet.programs: no-such-program-4711\n---\n\nRun it.\n";
    std::fs::write(folder.join("SKILL.md"), text).unwrap();
    let pushed = terminal.run(&["skills", "push", "rare"]).await;
    assert_eq!(pushed.code, Some(0), "{pushed:?}");
    assert!(
        pushed
            .err
            .starts_with("! jobs of rare will wait: the workers lack: no-such-program-4711"),
        "{pushed:?}"
    );
    let detached = terminal
        .run(&["run", "-d", "rare", "x", "-m", "script/bash"])
        .await;
    let why = "queued: no worker has no-such-program-4711; see `skillet skills`\n";
    assert_eq!(detached.err, why, "{detached:?}");
    let listed = terminal.run(&["skills"]).await;
    assert!(
        listed
            .out
            .contains("rare\tunavailable\tversion 1\tmissing: no-such-program-4711"),
        "{listed:?}"
    );
}
