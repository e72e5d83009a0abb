//! `skillet init`, `config check`, `completions` and `man`.

use super::at;
use crate::support::{CommandOutput, Service, Terminal};

#[tokio::test]
async fn init_writes_a_file_that_config_check_accepts() {
    let terminal = Terminal::new(&[]);
    let made = terminal.run(&["init"]).await;
    assert_eq!(made.code, Some(0), "{made:?}");
    let checked = terminal.run(&["config", "check"]).await;
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let expected =
        "✓ skillet.toml: 0 settings\n– models of anthropic: ANTHROPIC_API_KEY is not set here\n";
    assert!(checked.out.starts_with(expected), "{checked:?}");
    let again = terminal.run(&["init"]).await;
    assert_eq!(again.code, Some(1));
    assert!(
        again.err.contains("skillet.toml already exists"),
        "{again:?}"
    );

    let file = terminal.folder.path().join("other.toml");
    for (text, problem) in [
        (
            "slots = 0\n",
            "in other.toml: invalid value '0' for '--slots <SLOTS>': 0 is not in 1..=10000",
        ),
        ("slot = 3\n", "in other.toml: there is no setting `slot`"),
        (
            "default_model = \"gpt\"\n",
            "in other.toml: invalid value 'gpt' for '--default-model",
        ),
    ] {
        std::fs::write(&file, text).unwrap();
        let wrong = terminal.run(&["config", "check", "other.toml"]).await;
        assert_eq!(wrong.code, Some(1), "{wrong:?}");
        assert!(wrong.err.contains(problem), "{wrong:?}");
    }
}

#[tokio::test]
async fn completion_offers_commands_and_the_ids_of_the_service() {
    let service = Service::without_worker().await;
    let job = service.create_shell("true").await;
    let complete = async |terminal: &Terminal, words: &[&str]| {
        let mut command = terminal.command(&[&["--"], words].concat());
        command
            .env("SKILLET_COMPLETE", "bash")
            .env("_CLAP_IFS", "\n");
        command.env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string());
        command
            .env("_CLAP_COMPLETE_COMP_TYPE", "9")
            .env("_CLAP_COMPLETE_SPACE", "true");
        CommandOutput::of(command.spawn().unwrap()).await.out
    };
    let terminal = at(&service);
    assert_eq!(
        complete(&terminal, &["skillet", "jobs", "get", "job_"]).await,
        job
    );
    assert_eq!(
        complete(&terminal, &["skillet", "run", "shel"]).await,
        "shell"
    );
    assert!(
        complete(&terminal, &["skillet", "jobs", "re"])
            .await
            .contains("retry")
    );
    // Without a service there are no ids, and completion does not start one.
    let alone = Terminal::new(&[]);
    assert_eq!(
        complete(&alone, &["skillet", "jobs", "get", "job_"]).await,
        ""
    );
    assert!(
        std::fs::read_dir(alone.folder.path())
            .unwrap()
            .next()
            .is_none()
    );

    for (shell, telling) in [
        ("bash", "complete "),
        ("zsh", "#compdef skillet"),
        ("fish", "complete --"),
    ] {
        let script = alone.run(&["completions", shell]).await;
        assert_eq!(script.code, Some(0), "{script:?}");
        assert!(
            script.out.contains(telling) && script.out.contains("SKILLET_COMPLETE"),
            "{script:?}"
        );
    }
}

#[tokio::test]
async fn man_writes_a_page_for_each_command() {
    let terminal = Terminal::new(&[]);
    let ran = terminal.run(&["man", "pages"]).await;
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "man -l pages/skillet.1\n")
    );
    for page in [
        "skillet.1",
        "skillet-run.1",
        "skillet-jobs.1",
        "skillet-jobs-list.1",
    ] {
        let text = terminal.read(&format!("pages/{page}"));
        assert!(text.contains(".SH NAME"), "{page}");
    }
    for absent in ["skillet-help.1", "skillet-jobs-help.1", "skillet-watch.1"] {
        assert!(
            !terminal.folder.path().join("pages").join(absent).exists(),
            "{absent}"
        );
    }
}
