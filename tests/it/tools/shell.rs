//! Shell commands of agents.

use serde_json::json;

use super::{ToolSetup, sh};

#[tokio::test]
async fn a_command_runs_where_it_should_for_as_long_as_it_may() {
    let setup = ToolSetup::start().await;
    let at = |cwd: &str, command: &str| ("shell_exec", json!({"command": command, "cwd": cwd}));
    let ran = setup
        .run(
            "workbench",
            &[
                sh("mkdir -p \"a b/it's\"; ln -s 'a b' l; ln -s /etc out; pwd; touch file"),
                at("a b/it's", "pwd"),
                at("/workspace/a b", "pwd"),
                at("l", "pwd -P"),
                at(".", "pwd; exit 3"),
                at("..", "pwd"),
                at("/etc", "pwd"),
                at("/tmp", "pwd"),
                at("out", "pwd"),
                at("none", "pwd"),
                at("file", "pwd"),
                (
                    "shell_exec",
                    json!({"command": "echo begun; sleep 60", "timeout": 1}),
                ),
                (
                    "shell_exec",
                    json!({"command": "echo fast", "timeout": 99999999999u64}),
                ),
            ],
        )
        .await;
    let home = ran[0].stdout();
    let home = home.trim();
    for (ran, place) in ran[1..4].iter().zip(["a b/it's", "a b", "a b"]) {
        assert_eq!(ran.stdout(), format!("{home}/{place}\n"));
    }
    assert_eq!(
        (ran[4].stdout(), &ran[4].json()["exit_code"]),
        (format!("{home}\n"), &json!(3))
    );
    ran[5].assert_error("`..` cannot be the directory to run in: it is not in the workspace");
    ran[6].assert_error("Paths are relative to the workspace");
    ran[7].assert_error("Only shell commands see /tmp");
    ran[8].assert_error("leads out");
    ran[9].assert_error("it does not exist");
    ran[10].assert_error("is not a directory");
    assert_eq!(ran[11].outcome, "timeout");
    let killed = ran[11].json();
    assert_eq!(
        (&killed["stdout"], &killed["exit_code"]),
        (&json!("begun\n"), &json!(null))
    );
    assert_eq!(killed["note"], "killed after 1 s");
    assert_eq!(ran[12].stdout(), "fast\n");
}

#[tokio::test]
async fn both_names_of_the_shell_answer_alike() {
    let setup = ToolSetup::start().await;
    let input = json!({"command": "echo out; echo err >&2; exit 5"});
    let calls = [("shell.exec", input.clone()), ("execute_bash", input)];
    let ran = setup.run("workbench", &calls).await;
    let told = ran.iter().map(|ran| {
        let mut told = ran.json();
        told["duration_ms"] = json!(0);
        (ran.outcome.clone(), told)
    });
    let told: Vec<_> = told.collect();
    assert_eq!(told[0], told[1]);
    insta::assert_json_snapshot!(told[0], @r#"
    [
      "error",
      {
        "success": false,
        "exit_code": 5,
        "stdout": "out\n",
        "stderr": "err\n",
        "duration_ms": 0,
        "truncated": false
      }
    ]
    "#);
}
