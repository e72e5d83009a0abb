//! The receivers of `docs/webhooks.md`, which use the packages of Standard Webhooks for Python and TypeScript.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::{Child, Command};

use super::{Created, start};
use crate::support::python::python_with;
use crate::support::receiver::post_signed;
use crate::support::{has_program, is_all_required, until};

/// Returns the code block of this language in the page.
fn block(language: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(root.join("docs/webhooks.md")).unwrap();
    let begin = format!("\n```{language}\n");
    let rest = page.split(&begin).nth(1).expect("a block of that language");
    rest.split("```").next().unwrap().to_owned()
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Starts a receiver with the secret, and waits until it listens.
async fn serve(mut command: Command, port: u16, secret: &str) -> Child {
    let child = command
        .env("PORT", port.to_string())
        .env("WEBHOOK_SECRET", secret)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    until(async || {
        tokio::net::TcpStream::connect(("127.0.0.1", port))
            .await
            .is_ok()
    })
    .await;
    child
}

/// Checks that the receiver accepts the requests of the service, and rejects changed and old requests.
async fn check(command: Command) {
    let service = start().await;
    let port = free_port();
    let url = format!("http://127.0.0.1:{port}/");
    let webhook = Created::with(&service, &json!({"url": url})).await;
    let secret = &webhook.secret;
    let _receiver = serve(command, port, secret).await;
    let (_, delivery) = service
        .post(&format!("{}/test", webhook.path), &Value::Null)
        .await;
    assert_eq!(delivery["status"], "delivered", "{delivery:#}");
    let body = r#"{"type":"job.completed","data":{"job_id":"job_1"}}"#;
    let changed = r#"{"type":"job.completed","data":{"job_id":"job_2"}}"#;
    let (now, old) = (Duration::ZERO, Duration::from_secs(600));
    for (age, sent, expected) in [(now, body, 204), (now, changed, 400), (old, body, 400)] {
        let status = post_signed(&url, secret, age, body, sent).await;
        assert_eq!(status, expected, "{sent}, {age:?} old");
    }
}

#[tokio::test]
async fn the_receiver_in_python_verifies() {
    let Some(python) = python_with("webhooks", &["standardwebhooks==1.1.0"]).await else {
        return;
    };
    let mut command = Command::new(python);
    command.args(["-c", &block("python")]);
    check(command).await;
}

#[tokio::test]
async fn the_receiver_in_typescript_is_strict_and_verifies() {
    let Some(folder) = install_node_packages().await else {
        return;
    };
    std::fs::write(folder.join("receiver.ts"), block("ts")).unwrap();
    let compile = [
        "node_modules/.bin/tsc",
        "--strict",
        "--exactOptionalPropertyTypes",
        "--noUncheckedIndexedAccess",
        "--module",
        "nodenext",
        "--target",
        "es2022",
        "--types",
        "node",
        "receiver.ts",
    ];
    run_node(&folder, &compile).await;
    let mut command = Command::new("node");
    command.arg(folder.join("receiver.js"));
    check(command).await;
}

#[test]
fn the_receiver_in_rust_is_the_example_of_the_client() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let example = root.join("clients/rust/examples/webhook.rs");
    let example = std::fs::read_to_string(example).unwrap();
    assert!(
        example.contains(&block("rust")),
        "docs/webhooks.md: the block must be a part of clients/rust/examples/webhook.rs"
    );
}

/// Returns a folder with the package of Standard Webhooks and a compiler, or `None` if they cannot be installed.
async fn install_node_packages() -> Option<PathBuf> {
    if !has_program("npm") || !has_program("node") {
        return None;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("node/webhooks");
    std::fs::create_dir_all(&folder).unwrap();
    let package = json!({
        "private": true,
        "type": "module",
        "dependencies": {"standardwebhooks": "1.1.1", "typescript": "5.9.3", "@types/node": "20.19.41"},
    });
    std::fs::write(folder.join("package.json"), package.to_string()).unwrap();
    let install = [
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ];
    let installed = Command::new("npm")
        .args(install)
        .current_dir(&folder)
        .output()
        .await
        .unwrap();
    let errors = String::from_utf8_lossy(&installed.stderr);
    assert!(installed.status.success() || !is_all_required(), "{errors}");
    if !installed.status.success() {
        eprintln!("left out: the packages of npm cannot be installed here");
        return None;
    }
    Some(folder)
}

async fn run_node(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("node");
    let output = command.args(arguments).current_dir(folder).output();
    let output = output.await.unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}");
}
