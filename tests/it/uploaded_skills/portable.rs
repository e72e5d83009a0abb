//! Skills that were written for other agents and run unchanged.

use serde_json::{Value, json};
use tests::model_server::Reply;

use super::archive::Tar;
use super::uploaded;
use crate::support::{Service, Terminal, bash};

/// Front matter as in public collections: no tools, and fields of other programs.
const BANNER: &str = "---\nname: banner\ndescription: >-\n  Draws banners from a title. Use it when someone wants a banner,\n  a header or a cover.\n\
    license: Complete terms in LICENSE.txt\ncompatibility: Needs Python\nmetadata:\n  version: 1.2\n  author:\n    name: Ada\n---\n\n\
    # Banners\n\nRun `scripts/draw.py TITLE`.\n";
const DRAW: &str = "import sys\nprint('<!doctype html><title>' + sys.argv[1] + '</title><h1>' + sys.argv[1] + '</h1>')\n";

fn banner() -> Vec<u8> {
    Tar::default()
        .folder("banner/")
        .file("banner/SKILL.md", BANNER)
        .file("banner/LICENSE.txt", "MIT")
        .file("banner/scripts/draw.py", DRAW)
        .file(
            "banner/requirements.txt",
            "# for textures\nno-such-package-4711>=2\npypdf\n",
        )
        .gzip()
}

#[tokio::test]
async fn a_skill_without_a_list_of_tools_gets_the_general_ones_and_no_network() {
    let service = Service::start().await;
    let skill = uploaded(&service, banner()).await;
    assert_eq!(
        (&skill["warnings"], &skill["network"]),
        (&json!([]), &json!("none"))
    );
    let make = bash("python3 skill/scripts/draw.py Spring > banner.html && cat skill/LICENSE.txt");
    let prompt = format!("{make}\n\noutput: banner.html");
    let job = json!({"skill": "banner", "model": "script/bash", "prompt": prompt});
    let job = service.run(&job).await;
    assert_eq!(
        (&job["status"], &job["text"]),
        (&json!("completed"), &json!("MIT")),
        "{job:#}"
    );
    assert_eq!(job["outputs"][0]["kind"], "html", "{job:#}");

    service.model.script("portable", [Reply::text("Done.")]);
    let job =
        json!({"skill": "banner", "model": "anthropic/claude-test", "prompt": "Draw. #portable"});
    service.run(&job).await;
    let request = &service.model.requests("portable")[0];
    let tools = request["tools"].as_array().unwrap().iter();
    let tools: Vec<_> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
    let expected = [
        "shell_exec",
        "file_read",
        "file_write",
        "file_edit",
        "file_list",
        "look_at",
        "set_output",
    ];
    assert_eq!(tools, expected);
    let system = request["system"][0]["text"].as_str().unwrap();
    for part in [
        "what is called `LICENSE.txt` above is `skill/LICENSE.txt` here",
        "`Bash` is `shell.exec`, `Read` is `file.read`",
        "Commands have no network.",
        "Not installed: pip:no-such-package-4711.",
    ] {
        assert!(system.contains(part), "{part}: {system}");
    }
    assert!(!system.contains("`WebFetch`"), "{system}");
}

#[tokio::test]
async fn the_names_of_the_format_are_aliases_and_unknown_ones_are_warnings() {
    let service = Service::without_worker().await;
    for list in [
        "Bash(python:*), Read, WebFetch, TodoWrite",
        "Bash(python:*) Read WebFetch TodoWrite",
        "[Bash, Read, WebFetch, TodoWrite]",
        "\n  - Bash(python:*)\n  - Read\n  - WebFetch\n  - TodoWrite",
    ] {
        let text = format!(
            "---\nname: notes\ndescription: Keeps notes.\nallowed-tools: {list}\n---\nWrite.\n"
        );
        let archive = Tar::default().file("SKILL.md", text).gzip();
        let skill = uploaded(&service, archive).await;
        let warning = "`allowed-tools`: there is no tool `TodoWrite`; it is ignored";
        assert_eq!(skill["warnings"], json!([warning]), "{list}");
    }
}

#[tokio::test]
async fn check_and_push_tell_what_was_found_and_what_is_missing() {
    let service = Service::start().await;
    let terminal = Terminal::new(&[
        ("SKILLET_URL", &service.url),
        ("SKILLET_API_KEY", &service.key),
    ]);
    let folder = terminal.folder.path().join("banner");
    std::fs::create_dir(&folder).unwrap();
    let text = BANNER.replace("license:", "allowed-tools: Read, Task\nlicense:");
    std::fs::write(folder.join("SKILL.md"), text).unwrap();
    let packages = r#"{"dependencies": {"no-such-module-4711": "^1"}}"#;
    std::fs::write(folder.join("package.json"), packages).unwrap();
    std::fs::write(folder.join("requirements.txt"), "no-such-package-4711\n").unwrap();
    let warnings = "! the instructions name scripts/draw.py, which does not exist\n\
                    ! `allowed-tools`: there is no tool `Task`; it is ignored\n";
    let missing = "pip:no-such-package-4711 (Python package no-such-package-4711), \
                   node:no-such-module-4711 (Node package no-such-module-4711)\n";

    let checked = terminal.run(&["skills", "check", "banner"]).await;
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let after = checked.out.split_once('\n').unwrap().1;
    assert_eq!(
        after,
        format!(
            "  tools: file.read look_at set_output\n  optional: pip:no-such-package-4711 node:no-such-module-4711\n  \
             network: none\n{warnings}! missing on this machine, and optional: {missing}"
        )
    );
    let pushed = terminal.run(&["skills", "push", "banner"]).await;
    assert_eq!(pushed.code, Some(0), "{pushed:?}");
    assert_eq!(
        pushed.err,
        format!("{warnings}! the workers lack optional programs: {missing}")
    );
    let (_, skill) = service.get("/v1/skills/banner").await;
    assert_eq!(
        (&skill["available"], &skill["missing"]),
        (&Value::Bool(true), &json!([]))
    );
}

#[tokio::test]
async fn packages_that_are_installed_are_told() {
    let service = Service::start().await;
    // A worker checks for the packages of new skills once a second.
    uploaded(&service, banner()).await;
    let has_pypdf = std::process::Command::new("/usr/bin/python3")
        .args(["-c", "import importlib.metadata as it; it.version('pypdf')"])
        .status()
        .is_ok_and(|status| status.success());
    if !has_pypdf {
        return;
    }
    let patience = tokio::time::Instant::now() + crate::support::TIMEOUT;
    loop {
        let (_, skill) = service.get("/v1/skills/banner").await;
        let missing = skill["missing_optional"].to_string();
        if skill["programs"]["pip:pypdf"].is_array() && !missing.contains("pypdf") {
            return;
        }
        assert!(tokio::time::Instant::now() < patience, "{skill:#}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}
