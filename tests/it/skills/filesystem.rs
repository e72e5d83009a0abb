//! `filesystem`: an archive, checked with Python's archive reader, and the confinement of tools to the workspace.

use serde_json::json;
use tests::model_server::Reply;

use super::made::{Made, can_run};
use crate::support::{Service, scripted};

#[tokio::test]
async fn a_mess_becomes_an_archive_with_order_in_it() {
    let service = Service::start().await;
    if !can_run(&service, "filesystem", &["python3"]).await {
        return;
    }
    let prompt = include_str!("../../../cli/src/demo/filesystem.md");
    let made = Made::of_bakery(&service, "filesystem", prompt).await;
    assert_eq!(made.outputs(), [("bakery.zip", "application/zip")]);
    let files = made.ask_python(
        "import zipfile\nz = zipfile.ZipFile('bakery.zip')\nassert z.testzip() is None\n\
         print(*sorted(n for n in z.namelist() if not n.endswith('/')), sep='\\n')\n\
         print(z.read('bakery/2025/2025-12-sales.csv').decode())",
    );
    let lines: Vec<_> = files.lines().collect();
    assert_eq!(lines[0], "bakery/2024/2024-01-sales.csv");
    assert_eq!(
        lines[24..26],
        ["bakery/notes.txt", "bakery/what-was-done.tsv"]
    );
    assert!(
        files.contains("\n2025-12,6831,4987,3513,3330,2321"),
        "{files}"
    );
    assert!(made.text().contains("none lost"), "{}", made.text());
}

#[tokio::test]
async fn no_tool_reads_writes_or_lists_outside_the_workspace() {
    let service = Service::start().await;
    if !can_run(&service, "filesystem", &[]).await {
        return;
    }
    let secret = service.home.path().join("secret.txt");
    std::fs::write(&secret, "never to be seen").unwrap();
    let outside = secret.display().to_string();
    let links = format!("ln -s {outside} link.txt; ln -s / root; cat {outside}; ls /root /home");
    let calls = [
        ("file_read", json!({"path": outside})),
        ("file_read", json!({"path": "link.txt"})),
        ("file_read", json!({"path": format!("root{outside}")})),
        ("file_read", json!({"path": "../../secret.txt"})),
        (
            "file_write",
            json!({"path": "../../made.txt", "content": "x"}),
        ),
        (
            "file_write",
            json!({"path": "root/tmp/made-by-skillet.txt", "content": "x"}),
        ),
        ("file_list", json!({"path": "root/etc"})),
        ("set_output", json!({"path": "link.txt"})),
    ];
    let outward = calls
        .into_iter()
        .fold(Reply::text("Now out."), |reply, (tool, input)| {
            reply.then_call(tool, input)
        });
    let script = [
        Reply::call("shell.exec", json!({"command": links})),
        outward,
        Reply::text("Done."),
    ];
    service.model.script("outside", script);
    let mut job = scripted("anthropic/claude-test", "outside");
    job["skill"] = json!("filesystem");
    let job = service.run(&job).await;
    assert_eq!(
        (&job["status"], &job["outputs"]),
        (&json!("completed"), &json!([])),
        "{job:#}"
    );
    let events = service.events(job["id"].as_str().unwrap()).await;
    let calls: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "tool.completed")
        .collect();
    assert_eq!(calls.len(), 9);
    for call in &calls {
        assert_eq!(call["data"]["outcome"], "error", "{call:#}");
        assert!(!call.to_string().contains("never to be seen"), "{call:#}");
    }
    assert!(!service.home.path().join("made.txt").exists());
    assert!(!std::path::Path::new("/tmp/made-by-skillet.txt").exists());
}
