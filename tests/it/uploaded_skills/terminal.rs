//! `skillet skills check`, `push` and `delete`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use super::{greet, greet_world, greeting};
use crate::support::{CommandOutput, Service, Terminal};

fn write(terminal: &Terminal, name: &str, text: &str) {
    let path = terminal.folder.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn result(ran: &CommandOutput) -> (Option<i32>, &str) {
    (ran.code, ran.out.as_str())
}

#[tokio::test]
async fn check_says_what_a_folder_or_an_archive_is_or_what_is_wrong_with_it() {
    let terminal = Terminal::new(&[]);
    let check = async |place: &str| terminal.run(&["skills", "check", place]).await;
    write(
        &terminal,
        "greet/SKILL.md",
        &greet("", "Run `scripts/greet.sh`, then scripts/more.py."),
    );
    write(&terminal, "greet/scripts/greet.sh", "echo hello\n");
    let good = check("greet").await;
    let lines: Vec<_> = good.out.lines().collect();
    assert_eq!(good.code, Some(0), "{good:?}");
    assert!(lines[0].starts_with("✓ greet: 2 files, "), "{good:?}");
    assert_eq!(
        lines[1..],
        [
            "  tools: shell.exec",
            "  network: none",
            "! the instructions name scripts/more.py, which does not exist"
        ]
    );

    let archive = terminal.folder.path().join("greet.tgz");
    fs::write(&archive, greeting("Hello")).unwrap();
    assert!(
        check("greet.tgz")
            .await
            .out
            .starts_with("✓ greet: 3 files, ")
    );
    fs::write(&archive, "hello").unwrap();
    assert_eq!(
        result(&check("greet.tgz").await),
        (
            Some(1),
            "✗ greet.tgz: this is neither a ZIP archive nor a tar.gz\n"
        )
    );

    write(&terminal, "greet/SKILL.md", &greet("metadata: [\n", "x"));
    let bad = check("greet").await;
    assert_eq!(
        result(&bad),
        (
            Some(1),
            "✗ greet: SKILL.md: its front matter cannot be read: line 5 column 11: expected mapping start\n"
        )
    );
    write(
        &terminal,
        "greet/SKILL.md",
        &greet("", "x").replace("description: Greets.", "description: ''"),
    );
    let bad = check("greet").await;
    assert_eq!(
        result(&bad),
        (
            Some(1),
            "✗ greet: SKILL.md: `description`: must have 1 to 1024 characters, but has 0\n"
        )
    );
    symlink("/etc/passwd", terminal.folder.path().join("greet/link")).unwrap();
    assert_eq!(
        result(&check("greet").await),
        (
            Some(1),
            "✗ greet: link: it is a link; a skill has files and folders only\n"
        )
    );
    let none = check("nowhere").await;
    assert!(
        none.code == Some(1) && none.err.contains("cannot read nowhere"),
        "{none:?}"
    );
}

#[tokio::test]
async fn push_uploads_a_folder_whose_scripts_run_and_delete_removes_it() {
    let service = Service::start().await;
    let terminal = Terminal::new(&[
        ("SKILLET_URL", &service.url),
        ("SKILLET_API_KEY", &service.key),
    ]);
    write(
        &terminal,
        "greet/SKILL.md",
        &greet("", "Run scripts/greet.sh."),
    );
    write(
        &terminal,
        "greet/scripts/greet.sh",
        "#!/bin/bash\necho Hello $1\n",
    );
    write(&terminal, "greet/.git/config", "not to be sent");
    let script = terminal.folder.path().join("greet/scripts/greet.sh");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    let pushed = terminal.run(&["skills", "push", "greet"]).await;
    assert_eq!(pushed.code, Some(0), "{pushed:?}");
    assert!(pushed.out.starts_with("greet version 1 ("), "{pushed:?}");
    let again = terminal.run(&["skills", "push", "greet", "--json"]).await;
    let skill: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!(skill, service.get("/v1/skills/greet").await.1);
    assert_eq!(skill["version"], 1);
    let job = service.run(&greet_world()).await;
    assert_eq!(job["text"], "Hello World", "{job:#}");

    let listed = terminal.run(&["skills"]).await;
    assert!(
        listed
            .out
            .contains("greet\tavailable\tversion 1\tGreets.\n"),
        "{listed:?}"
    );
    let listed = terminal.run(&["skills", "--json"]).await;
    assert!(listed.objects().contains(&skill));

    write(&terminal, "greet/SKILL.md", "no front matter");
    let refused = terminal.run(&["skills", "push", "greet"]).await;
    assert_eq!(refused.code, Some(1));
    assert!(
        refused
            .err
            .contains("SKILL.md: it must begin with front matter"),
        "{refused:?}"
    );
    let deleted = terminal.run(&["skills", "delete", "greet"]).await;
    assert_eq!(result(&deleted), (Some(0), "deleted greet\n"));
    assert_eq!(service.get("/v1/skills/greet").await.0, 404);
    let again = terminal.run(&["skills", "delete", "greet"]).await;
    assert_eq!(again.code, Some(1));
    assert_eq!(
        service.get("/v1/jobs").await.1["data"][0]["skill_version"],
        json!(1)
    );
}
