//! `skillet agents`, and `skillet run --agent`.

use serde_json::{Value, json};

use super::at;
use tests::model_server::Reply;

use crate::support::{Service, bash, has_program};

#[tokio::test]
async fn an_agent_is_put_shown_run_and_deleted() {
    let service = Service::start().await;
    let terminal = at(&service);
    let agent = json!({"soul": "I am.", "tools": ["shell.exec"], "model": "script/bash"});
    std::fs::write(terminal.folder.path().join("sh.json"), agent.to_string()).unwrap();
    let ran = terminal
        .run(&["agents", "apply", "sh", "-f", "sh.json"])
        .await;
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "sh version 1\n"),
        "{ran:?}"
    );
    let changed =
        r#"{"name": "sh", "soul": "I am new.", "tools": ["shell.exec"], "model": "script/bash"}"#;
    let ran = terminal
        .run_with_input(&["agents", "apply", "-f", "-"], changed)
        .await;
    assert_eq!(ran.out, "sh version 2\n", "{ran:?}");

    let ran = terminal.run(&["agents", "get", "sh", "--json"]).await;
    let shown: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(shown["soul"], "I am new.");
    let ran = terminal.run(&["agents", "list"]).await;
    let lines: Vec<_> = ran.out.lines().collect();
    assert_eq!(lines.len(), 2, "{ran:?}");
    assert!(lines[0].starts_with("default\tbuilt in\t"), "{ran:?}");
    assert!(lines[1] == "sh\t2\tscript/bash\tshell.exec", "{ran:?}");

    let (_, conversation) = service
        .post("/v1/conversations", &json!({"agent": "sh"}))
        .await;
    let conversation = conversation["id"].as_str().unwrap();
    let with = ["-a", "sh", "--conversation", conversation];
    let make = bash("echo hello > a.txt; echo made");
    let ran = terminal.run(&[&["run", &make], &with[..]].concat()).await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "made\n"), "{ran:?}");
    let read = bash("cat a.txt");
    let ran = terminal.run(&[&["run", &read], &with[..]].concat()).await;
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "hello\n"),
        "{ran:?}"
    );
    let ran = terminal.run(&["list", "--agent", "sh", "--json"]).await;
    assert_eq!(ran.objects().len(), 2, "{ran:?}");

    let ran = terminal.run(&["agents", "delete", "sh"]).await;
    assert_eq!(ran.out, "deleted sh\n", "{ran:?}");
    let ran = terminal.run(&["agents", "get", "sh"]).await;
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("there is no such agent"), "{ran:?}");
}

#[tokio::test]
async fn a_skill_wants_a_prompt_and_an_agent_no_skill() {
    let service = Service::without_worker().await;
    let terminal = at(&service);
    for arguments in [
        &["run", "shell"][..],
        &["run", "shell", "x", "--agent", "default"],
    ] {
        let ran = terminal.run(arguments).await;
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
    }
}

#[tokio::test]
async fn the_example_with_an_mcp_server_works_as_its_page_says() {
    if !has_program("python3") {
        return;
    }
    let service = Service::start().await;
    let terminal = at(&service);
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/mcp");
    let (agent, server) = (
        format!("{example}/agent.json"),
        format!("{example}/server.py"),
    );
    let ran = terminal.run(&["agents", "put", "bookkeeper", &agent]).await;
    assert_eq!(ran.out, "bookkeeper version 1\n", "{ran:?}");
    let ran = terminal.run(&["agents", "list"]).await;
    assert!(
        ran.out.contains("file.read file.list mcp.notes.*\n"),
        "{ran:?}"
    );
    service.model.script(
        "notes",
        [
            Reply::call("mcp_notes_add_note", json!({"note": "May was best"})),
            Reply::call("mcp_notes_list_notes", json!({})),
            Reply::text("Noted."),
        ],
    );
    let model = ["-m", "anthropic/m", "-i", &server];
    let run = [&["run", "-a", "bookkeeper", "Note it. #notes"], &model[..]].concat();
    let ran = terminal.run(&run).await;
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "Noted.\n"),
        "{ran:?}"
    );
    let said = service.model.requests("notes")[2].body.to_string();
    assert!(said.contains("May was best\\n"), "{said}");
    assert_eq!(service.model.violations(), [""; 0]);
}
