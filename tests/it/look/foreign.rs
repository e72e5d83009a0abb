//! Images in tool results with a third-party mock of both providers.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::{BOTH, SKILLS, job, png, with_file};
use crate::support::{Service, has_program, is_all_required};

/// The exit status of a program that could not install what it needs.
const CANNOT_INSTALL: i32 = 69;

/// A server process that runs until it is dropped.
struct ForeignServer {
    url: String,
    _process: Child,
}

impl ForeignServer {
    /// Starts a program that prints its address on the first line. Returns `None` if it cannot be installed here.
    async fn start(mut command: Command) -> Option<Self> {
        let mut process = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        if let Some(url) = lines.next_line().await.unwrap() {
            return Some(Self {
                url,
                _process: process,
            });
        }
        let status = process.wait().await.unwrap();
        let is_left_out = status.code() == Some(CANNOT_INSTALL) && !is_all_required();
        assert!(is_left_out, "{command:?}: {status}");
        None
    }

    /// Starts a service whose providers are this server.
    async fn service(&self) -> Service {
        let openai = format!("{}/v1", self.url);
        let environment = [
            ("SKILLET_SKILLS_DIR", SKILLS),
            ("ANTHROPIC_BASE_URL", &*self.url),
            ("OPENAI_BASE_URL", &*openai),
        ];
        let mut service = Service::with_environment(&environment).await;
        service.add_worker(&[]).await;
        service
    }
}

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

async fn aimock() -> Option<ForeignServer> {
    let install = [
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ];
    let installed = Command::new("npm")
        .args(install)
        .current_dir(folder("aimock"))
        .stdin(Stdio::null())
        .output()
        .await
        .unwrap();
    if !installed.status.success() && !is_all_required() {
        eprintln!("left out: aimock cannot be installed here");
        return None;
    }
    assert!(installed.status.success(), "{installed:?}");
    let mut command = Command::new("node");
    command
        .arg("serve.mjs")
        .current_dir(folder("aimock"))
        .env("LOOK_PATH", "grey.png")
        .env("RESULT_PART", "3136 × 200 px");
    ForeignServer::start(command).await
}

#[tokio::test]
async fn aimock_takes_the_images_of_both_wires() {
    if !has_program("npm") || !has_program("node") {
        return;
    }
    let Some(mock) = aimock().await else {
        return;
    };
    let service = mock.service().await;
    for model in BOTH {
        let body = with_file(&service, job(model, "aimock"), "grey.png", png(3136, 200)).await;
        let ended = service.run(&body).await;
        assert_eq!(
            ended["text"],
            "It is grey.",
            "{ended:#}\n{}",
            service.logs()
        );
    }
    let journal = reqwest::get(format!("{}/__aimock/journal", mock.url));
    let journal: Vec<Value> = journal.await.unwrap().json().await.unwrap();
    let statuses: Vec<_> = journal
        .iter()
        .map(|entry| &entry["response"]["status"])
        .collect();
    assert_eq!(statuses, [200; 4], "{journal:#?}");
}
