//! Packages of uploaded skills, installed by a worker.

use serde_json::{Value, json};

use super::archive::Tar;
use super::{post, upload};
use crate::agents::put;
use crate::egress::ANY;
use crate::support::log::data;
use crate::support::{Service, bash, has_program};

/// Without Internet access, the package index has an address in the machine's own network.
const INSTALL: [(&str, &str); 2] = [
    ("SKILLET_INSTALL_SKILL_REQUIREMENTS", "true"),
    ("SKILLET_EGRESS_ALLOW", ANY),
];
/// A small package without dependencies and with a wheel.
const PYTHON: &str = "iniconfig==2.0.0\n";
const NODE: &str = r#"{"dependencies": {"ms": "2.1.3"}}"#;
const USE: &str = "python3 -c 'import iniconfig; print(iniconfig.__file__)'\n\
                   node -p 'require(\"ms\")(\"2 days\")'\n\
                   touch \"${PYTHONPATH%%:*}/mine\" 2>&1 | grep -o 'Read-only file system'";

fn skill(files: &[(&str, &str)]) -> Vec<u8> {
    named_skill("packed", files)
}

fn named_skill(name: &str, files: &[(&str, &str)]) -> Vec<u8> {
    let text = format!(
        "---\nname: {name}\ndescription: Needs packages.\nallowed-tools: shell.exec\n---\nUse them.\n"
    );
    let mut archive = Tar::default()
        .folder(&format!("{name}/"))
        .file(&format!("{name}/SKILL.md"), text);
    for (path, content) in files {
        archive = archive.file(&format!("{name}/{path}"), *content);
    }
    archive.gzip()
}

async fn run(service: &Service, command: &str) -> (Value, Vec<String>) {
    let job = json!({"skill": "packed", "model": "script/bash", "prompt": bash(command)});
    let job = service.run(&job).await;
    let events = service.events(job["id"].as_str().unwrap()).await;
    let warnings = data(&events, "log")
        .into_iter()
        .map(|line| line["message"].as_str().unwrap().to_owned());
    let warnings = warnings.collect();
    let output = data(&events, "tool.completed")[0]["output"]
        .as_str()
        .unwrap()
        .to_owned();
    let printed = serde_json::from_str(&output).unwrap_or_else(|_| panic!("{output}"));
    (printed, warnings)
}

#[tokio::test]
async fn packages_are_installed_once_and_cannot_be_changed_by_jobs() {
    if !has_program("pip3") || !has_program("npm") {
        return;
    }
    let mut service = Service::with_environment(&INSTALL).await;
    service.add_worker(&[]).await;
    let archive = skill(&[("requirements.txt", PYTHON), ("scripts/package.json", NODE)]);
    let (status, _) = upload(&service, archive).await;
    assert!(status.is_success());
    let (first, warnings) = run(&service, USE).await;
    let printed = first["stdout"].as_str().unwrap().to_owned();
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(warnings, [""; 0], "{first:#}");
    assert!(
        lines[0].ends_with("/python/iniconfig/__init__.py"),
        "{first:#}"
    );
    assert_eq!(
        lines[1..],
        ["172800000", "Read-only file system"],
        "{first:#}"
    );
    let (again, _) = run(&service, USE).await;
    assert_eq!(again["stdout"], printed, "the same layer");
    let (_, seen) = service.get("/v1/skills/packed").await;
    assert_eq!(seen["warnings"], json!([]));
    let missing = seen["missing_optional"].to_string();
    assert!(
        !missing.contains("iniconfig") && !missing.contains("node:ms"),
        "{missing}"
    );
    // Other jobs do not see the packages.
    let other =
        json!({"skill": "shell", "model": "script/bash", "prompt": bash("echo \"[$PYTHONPATH]\"")});
    let other = service.run(&other).await;
    assert!(other["text"].as_str().unwrap().contains("[]"), "{other:#}");
}

#[tokio::test]
async fn packages_of_all_skills_of_an_agent_are_installed() {
    if !has_program("pip3") || !has_program("npm") {
        return;
    }
    let mut service = Service::with_environment(&INSTALL).await;
    service.add_worker(&[]).await;
    for archive in [
        named_skill("one", &[("requirements.txt", PYTHON)]),
        named_skill("two", &[("package.json", NODE)]),
        named_skill("broken", &[("requirements.txt", "iniconfig==0.0.99\n")]),
    ] {
        let (status, _) = upload(&service, archive).await;
        assert!(status.is_success());
    }
    let agent = json!({"soul": "You work.", "skills": ["shell", "two", "broken", "one"]});
    put(&service, "worker", &agent).await;
    let job = json!({
        "agent": "worker",
        "model": "script/bash",
        "prompt": bash("python3 -c 'import iniconfig; print(iniconfig.__name__)'\nnode -p 'require(\"ms\")(\"2 days\")'"),
    });
    let ended = service.run(&job).await;
    assert_eq!(
        ended["text"],
        "iniconfig\n172800000",
        "{ended:#}\n{}",
        service.logs()
    );
    let events = service.events(ended["id"].as_str().unwrap()).await;
    let warnings = data(&events, "log");
    let words = "the packages of the skill `broken` could not be installed: ";
    assert!(
        warnings.len() == 1 && warnings[0]["message"].as_str().unwrap().starts_with(words),
        "{warnings:#?}"
    );
}

#[tokio::test]
async fn a_failed_installation_is_told_in_the_job_and_by_the_skill() {
    if !has_program("pip3") {
        return;
    }
    let mut service = Service::with_environment(&INSTALL).await;
    service.add_worker(&[]).await;
    let wrong = format!("iniconfig==2.0.0 --hash=sha256:{}\n", "0".repeat(64));
    let (status, _) = upload(&service, skill(&[("requirements.txt", &wrong)])).await;
    assert!(status.is_success());
    let (ran, warnings) = run(&service, "echo done").await;
    assert_eq!(ran["stdout"], "done\n");
    let words = "the packages of the skill `packed` could not be installed";
    assert!(
        warnings.len() == 1 && warnings[0].starts_with(words),
        "{warnings:?}"
    );
    assert!(warnings[0].to_lowercase().contains("hash"), "{warnings:?}");
    let (_, seen) = service.get("/v1/skills/packed").await;
    let told = seen["warnings"][0].as_str().unwrap();
    assert!(
        told.starts_with("its packages could not be installed on a worker: "),
        "{told}"
    );
}

#[tokio::test]
async fn nothing_is_installed_unless_the_operator_says_so() {
    let mut service = Service::start().await;
    service.add_worker(&[]).await;
    let response = post(&service, skill(&[("requirements.txt", PYTHON)]))
        .send()
        .await
        .unwrap();
    assert!(response.status().is_success());
    let (ran, warnings) = run(&service, "echo \"[$PYTHONPATH]\"").await;
    assert_eq!((ran["stdout"].as_str(), warnings.len()), (Some("[]\n"), 0));
}
