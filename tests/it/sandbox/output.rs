//! Outputs that lead out of the workspace while the job runs. `outputs` tests the simple cases.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tests::model_server::Reply;

use super::attack::can_attack;
use crate::support::Service;
use crate::support::log::data;

const CLAUDE: &str = "anthropic/claude-test";

#[tokio::test]
async fn no_link_pipe_socket_or_hole_in_a_file_gets_out_as_an_output() {
    if !can_attack() {
        return;
    }
    let service = Service::with_maker().await;
    let secret = service.home.path().join("secret.txt");
    std::fs::write(&secret, "of the host").unwrap();
    let secret = secret.display();
    let make = format!(
        "ln -s {secret} link; ln -s {home} folder; ln -s link twice; ln -s / root; mkdir -p deep
ln -s ../.. deep/up; ln -s /proc/self/root{secret} magic; ln -s /proc/self/cwd cwd; ln -s /proc/1/environ environ
mkfifo pipe; truncate -s 900M hole
/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")'
ln /usr/bin/id hard 2>/dev/null; echo mine > mine; ln mine again; ls -A | wc -l",
        home = service.home.path().display()
    );
    let paths = [
        ("link", "outside"),
        ("twice", "outside"),
        ("folder/secret.txt", "outside"),
        (&format!("root{secret}"), "outside"),
        ("deep/up/../secret", "outside"),
        ("deep/../../workspace/mine", "outside"),
        ("magic", "outside"),
        ("cwd/mine", "outside"),
        ("environ", "outside"),
        ("/proc/self/root/etc/passwd", "outside"),
        (&format!("{secret}"), "outside"),
        ("pipe", "not_a_file"),
        ("socket", "not_a_file"),
        ("again", "not_a_file"),
        ("hole", "too_large"),
    ];
    let calls = paths.iter().fold(
        Reply::call("shell.exec", json!({"command": make})),
        |reply, (path, _)| reply.then_call("set_output", json!({"path": path})),
    );
    service.model.script("tricks", [calls, Reply::stall()]);
    let job = service
        .create(&json!({"skill": "maker", "model": CLAUDE, "prompt": "Do it. #tricks"}))
        .await;
    service.model.stalled("tricks").await;
    let events = service.events(&job).await;
    let rejected: Vec<_> = data(&events, "asset.rejected")
        .iter()
        .map(|data| (text(&data["path"]), text(&data["reason"])))
        .collect();
    let expected: Vec<_> = paths
        .iter()
        .map(|(path, reason)| ((*path).to_owned(), (*reason).to_owned()))
        .collect();
    assert_eq!(rejected, expected);
    assert_eq!(
        service.get(&format!("/v1/jobs/{job}")).await.1["outputs"],
        json!([])
    );

    // A reader that only checks the path before it opens the file reads the host's secret.
    let workspace = workspace(service.home.path());
    for path in [
        "link",
        "twice",
        "folder/secret.txt",
        &format!("root{secret}"),
        "magic",
    ] {
        let content = std::fs::read_to_string(workspace.join(path)).unwrap();
        assert_eq!(content, "of the host", "{path}");
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Returns the only workspace.
fn workspace(home: &Path) -> PathBuf {
    let all = home.join("worker-0/workspaces");
    let inner = |folder: PathBuf| {
        let mut entries = std::fs::read_dir(folder).unwrap().flatten();
        entries.find(|entry| entry.path().is_dir()).unwrap().path()
    };
    inner(inner(all)).join("workspace")
}
