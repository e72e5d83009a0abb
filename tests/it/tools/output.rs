//! Results that are too large for a model.

use serde_json::json;

use super::{ToolSetup, sh};

#[tokio::test]
async fn a_large_output_is_whole_in_a_file_that_the_result_names() {
    let setup = ToolSetup::start().await;
    let ran = setup
        .run(
            "narrow",
            &[
                sh("seq 1 5000; seq 9 >&2"),
                sh("head -c 3000000 /dev/zero | tr '\\0' e >&2; echo end >&2"),
                sh("seq 1 5000 | cmp - .skillet/1-stdout.txt && ls .skillet; wc -c < .skillet/2-stderr.txt; tail -c 6 .skillet/2-stderr.txt"),
                ("file_read", json!({"path": ".skillet/1-stdout.txt", "offset": 4998})),
                ("shell.exec", json!({"command": "head -c 1001 /dev/zero"})),
                sh("wc -c .skillet/5-stdout.txt"),
            ],
        )
        .await;
    let first = ran[0].json();
    let stdout = first["stdout"].as_str().unwrap();
    assert!(
        stdout.starts_with("1\n2\n") && stdout.ends_with("\n5000\n") && stdout.len() < 1100,
        "{stdout}"
    );
    assert!(stdout.contains("bytes left out"));
    assert_eq!(
        (&first["truncated"], &first["stderr"]),
        (&json!(true), &json!("1\n2\n3\n4\n5\n6\n7\n8\n9\n"))
    );
    assert_eq!(
        first["note"],
        "all 23893 bytes of stdout are in the workspace file .skillet/1-stdout.txt"
    );
    assert_eq!(
        ran[1].json()["note"],
        "all 3000004 bytes of stderr are in the workspace file .skillet/2-stderr.txt"
    );
    assert_eq!(
        ran[2].stdout(),
        "1-stdout.txt\n2-stderr.txt\n3000004\neeend\n"
    );
    assert_eq!(ran[3].output, "4999\n5000\n[lines 4998 to 4999 of 5000]");
    assert_eq!(
        ran[5].stdout(),
        "1001 .skillet/5-stdout.txt\n",
        "one byte more than is shown"
    );
}

#[tokio::test]
async fn a_large_result_of_any_tool_is_cut_and_kept() {
    let setup = ToolSetup::start().await;
    let name = "x".repeat(200);
    let command = format!("for n in $(seq 100); do touch é$n-{name}; done");
    let wrong = json!({"command": 5, "é".repeat(4000): 1});
    let ran = setup
        .run(
            "narrow",
            &[
                sh(&command),
                ("file_list", json!({})),
                sh("wc -l < .skillet/2.txt; stat -c '%a %U' .skillet/2.txt; ls -A | grep -c é"),
                ("file_read", json!({"path": "n".repeat(5000)})),
                ("shell_exec", wrong),
            ],
        )
        .await;
    let listed = &ran[1];
    assert!(
        listed.truncated && listed.output.len() < 2300,
        "{}",
        listed.output.len()
    );
    let note = "in the workspace file .skillet/2.txt.]";
    assert!(
        listed.output.contains("bytes left out") && listed.output.ends_with(note),
        "{listed:?}"
    );
    assert!(ran[2].stdout().starts_with("99\n644 "), "{:?}", ran[2]);
    for error in &ran[3..] {
        assert_eq!(error.outcome, "error");
        assert!(
            error.output.len() < 2300,
            "errors are cut, too: {}",
            error.output.len()
        );
    }
}

#[tokio::test]
async fn a_job_that_has_a_file_of_its_own_in_the_way_only_loses_the_rest() {
    let setup = ToolSetup::start().await;
    let ran = setup
        .run(
            "narrow",
            &[sh("ln -s /tmp .skillet"), sh("seq 1 5000"), sh("ls /tmp")],
        )
        .await;
    assert_eq!(
        ran[1].json()["note"],
        "what was left out of stdout could not be kept in a file"
    );
    assert_eq!((&*ran[1].outcome, ran[2].stdout()), ("ok", String::new()));
}
