//! `git`: output, checked in another clone, and input over HTTP from Git's own server.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::made::{Made, can_run};
use super::origin::{ANY, Origin};
use crate::support::problem::Problem;
use crate::support::{Service, bash};

#[tokio::test]
async fn books_become_a_repository_and_a_change_log() {
    let service = Service::start().await;
    if !can_run(&service, "git", &["tar"]).await {
        return;
    }
    let prompt = include_str!("../../../cli/src/demo/git.md");
    let made = Made::of_bakery(&service, "git", prompt).await;
    assert_eq!(
        made.outputs(),
        [
            ("CHANGES.md", "text/markdown"),
            ("books.tar.gz", "application/gzip")
        ]
    );
    made.ask("tar", &["-xf", "books.tar.gz"]);
    made.ask("git", &["clone", "-q", "books.bundle", "clone"]);
    let log = made.ask(
        "git",
        &[
            "-C",
            "clone",
            "log",
            "--format=%ad %s",
            "--date=format:%Y-%m",
        ],
    );
    let lines: Vec<_> = log.lines().collect();
    assert_eq!(lines.len(), 24);
    assert_eq!(lines[0], "2025-12 Enter the sales of 2025-12");
    let changes = std::fs::read_to_string(made.path("CHANGES.md")).unwrap();
    assert_eq!(changes.matches("- **").count(), 9, "{changes}");
}

#[tokio::test]
async fn a_repository_is_cloned_over_http_and_a_patch_for_it_applies() {
    let origin = Origin::start();
    let service = service_that_reaches_it().await;
    if !can_run(&service, "git", &[]).await {
        return;
    }
    let history = "git init -q -b main a && cd a && git config user.name A && git config user.email a@localhost
        for n in 1 2 3; do echo \"line $n\" >> f; git add f; git commit -qm \"step $n\"; done
        cd .. && git clone -q --bare a a.git";
    shell(&origin, history);
    let url = format!("{}/a.git", origin.url);
    let work = format!(
        "set -euo pipefail
git config --global user.name Skillet; git config --global user.email skillet@localhost
timeout 20 git clone -q --filter=blob:none '{url}' repo
git -C repo log --format=%s
cd repo && git switch -qc fix && sed -i 's/line 2/line two/' f && git commit -qam 'Spell it out'
git format-patch -q --stdout origin/main..HEAD > ../fix.patch"
    );
    let prompt = format!("{}\noutput document: fix.patch", bash(&work));
    let made = Made::of(&service, "git", &prompt, &[], json!({"repository": url})).await;
    assert_eq!(made.text(), "step 3\nstep 2\nstep 1");
    std::fs::copy(made.path("fix.patch"), origin.path("fix.patch")).unwrap();
    shell(&origin, "cd a && git am -q ../fix.patch");
    let file = std::fs::read_to_string(origin.path("a/f")).unwrap();
    assert_eq!(file, "line 1\nline two\nline 3\n");
}

#[tokio::test]
async fn where_a_password_is_asked_for_it_ends_with_an_error_and_does_not_wait() {
    let origin = Origin::start();
    let service = service_that_reaches_it().await;
    if !can_run(&service, "git", &[]).await {
        return;
    }
    let url = format!("{}/private/a.git", origin.url);
    let begun_at = Instant::now();
    let job = service
        .run(&clone_of(&url, json!({"repository": url})))
        .await;
    let text = job["text"].as_str().unwrap();
    assert!(text.contains("could not read Username"), "{text}");
    assert!(begun_at.elapsed() < Duration::from_secs(15));
}

#[tokio::test]
async fn no_host_is_reached_but_that_of_the_repository() {
    let origin = Origin::start();
    let service = service_that_reaches_it().await;
    if !can_run(&service, "git", &[]).await {
        return;
    }
    let url = format!("{}/a.git", origin.url);
    for parameters in [
        json!({}),
        json!({"repository": "https://git.example/a.git"}),
    ] {
        let job = service.run(&clone_of(&url, parameters)).await;
        let text = job["text"].as_str().unwrap();
        assert!(text.contains("unable to access"), "{text}");
    }
    let ssh = json!({
        "skill": "git", "model": "script/bash", "prompt": "Look.",
        "parameters": {"repository": "git@git.example:a/b.git"},
    });
    let request = service
        .request(reqwest::Method::POST, "/v1/jobs")
        .json(&ssh);
    let problem = Problem::of(request).await;
    assert_eq!(problem.status, 422);
    assert_eq!(
        problem.body["errors"][0]["pointer"],
        "/parameters/repository"
    );
}

async fn service_that_reaches_it() -> Service {
    let mut service = Service::with_environment(&[("SKILLET_EGRESS_ALLOW", ANY)]).await;
    service.add_worker(&[]).await;
    service
}

fn clone_of(url: &str, parameters: Value) -> Value {
    let prompt = bash(&format!("git clone -q '{url}' repo"));
    json!({"skill": "git", "model": "script/bash", "prompt": prompt, "parameters": parameters})
}

/// Runs a script in the folder of the origin, as the owner of its repositories.
fn shell(origin: &Origin, script: &str) {
    let script = format!("set -e; {script}");
    let mut command = Command::new("bash");
    command.args(["-c", &script]).current_dir(origin.path("."));
    assert!(command.status().unwrap().success(), "{script}");
}
