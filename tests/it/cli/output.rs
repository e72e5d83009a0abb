//! The output format: tables at a terminal, tabs in a pipe, JSON, and ids.

use std::process::Stdio;

use serde_json::json;

use super::at;
use crate::support::{CommandOutput, Service, Terminal, Tty, bash};

/// A terminal with color support.
fn coloured(service: &Service) -> Terminal {
    Terminal::new(&[
        ("SKILLET_URL", &service.url),
        ("SKILLET_API_KEY", &service.key),
        ("TERM", "xterm-256color"),
    ])
}

/// Replaces job ids, times and durations in a text with text of the same length.
fn redacted(text: &str, jobs: &[&str]) -> String {
    let mut text = text.to_owned();
    for (number, job) in jobs.iter().enumerate() {
        let name = format!("job_{number}");
        text = text.replace(job, &format!("{name:<36}"));
    }
    let lines = text.lines().map(|line| {
        let words = line.split(' ').map(|word| match word.strip_suffix('s') {
            Some(number) if number.parse::<u32>().is_ok() => "Ns".to_owned(),
            _ => match word.trim_start_matches('(') {
                number if number.contains('.') && number.parse::<f64>().is_ok() => {
                    word.replace(number, "N.N")
                }
                _ => word.to_owned(),
            },
        });
        words.collect::<Vec<_>>().join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_terminal_gets_a_table_and_a_pipe_gets_tabs() {
    let service = Service::without_worker().await;
    let first = service.create_shell("echo first").await;
    let body = json!({
        "skill": "shell", "model": "script/bash", "prompt": bash("true"),
        "title": "The monthly report of all shops, with a title that is too long for one line",
    });
    let second = service.create(&body).await;
    let terminal = at(&service);
    terminal.run(&["jobs", "cancel", &first]).await;

    let shown = Tty::show_all(&terminal, &["jobs"]).await;
    insta::assert_snapshot!(redacted(&shown, &[&first, &second]), @r"
    ID                                    STATUS     CREATED  RUNS   DURATION  COST  MODEL        TITLE
    job_1                                 queued     Ns ago   shell                  script/bash  The monthly rep…
    job_0                                 cancelled  Ns ago   shell                  script/bash  echo first
    ");
    let piped = terminal.run(&["jobs", "list"]).await;
    let (_, page) = service.get("/v1/jobs").await;
    let created = |place: usize| page["data"][place]["created_at"].as_str().unwrap();
    let title = "The monthly report of all shops, with a title that is too long for one line";
    let expected = format!(
        "{second}\tqueued\t{}\tshell\t\t\tscript/bash\t{title}\n{first}\tcancelled\t{}\tshell\t\t\tscript/bash\techo first\n",
        created(0),
        created(1)
    );
    assert_eq!(piped.out, expected);
    let ids = terminal.run(&["jobs", "-q"]).await;
    assert_eq!(ids.out, format!("{second}\n{first}\n"));

    // Colors are only for terminals that support them, and not with `NO_COLOR`.
    let dim = "\u{1b}[2mcancelled\u{1b}[0m";
    let with_colours = coloured(&service);
    let shown = Tty::show_all(&with_colours, &["jobs"]).await;
    assert!(shown.contains(dim), "{shown:?}");
    let piped = with_colours.run(&["jobs"]).await;
    assert!(!piped.out.contains('\u{1b}'), "{piped:?}");
    let without = Terminal::new(&[
        ("SKILLET_URL", &service.url),
        ("SKILLET_API_KEY", &service.key),
        ("TERM", "xterm-256color"),
        ("NO_COLOR", "1"),
    ]);
    let shown = Tty::show_all(&without, &["jobs"]).await;
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
}

#[tokio::test]
async fn every_noun_alone_lists_and_every_list_has_json_and_ids() {
    let service = Service::start().await;
    let terminal = at(&service);
    service.create_shell("true").await;
    for noun in [
        "jobs",
        "approvals",
        "assets",
        "conversations",
        "skills",
        "agents",
        "secrets",
        "models",
        "keys",
        "tenants",
        "workers",
    ] {
        let listed = terminal.run(&[noun]).await;
        assert_eq!(
            (listed.code, listed.err.as_str()),
            (Some(0), ""),
            "{noun}: {listed:?}"
        );
        let count = listed.out.lines().count();
        let empty = ["approvals", "assets", "conversations", "secrets"];
        assert_eq!(count == 0, empty.contains(&noun), "{noun}: {listed:?}");
        let objects = terminal.run(&[noun, "list", "--json"]).await.objects();
        let ids = terminal.run(&[noun, "list", "-q"]).await;
        let expected: Vec<_> = objects
            .iter()
            .map(|entry| entry.get("id").unwrap_or(&entry["name"]).as_str().unwrap())
            .collect();
        assert_eq!(
            ids.out.lines().collect::<Vec<_>>(),
            expected,
            "{noun}: {ids:?}"
        );
        assert_eq!(expected.len(), count, "{noun}: {listed:?}");
    }
    let queue = terminal.run(&["queue", "--json"]).await.objects();
    assert_eq!(queue[0], service.get("/v1/queue").await.1);
}

#[tokio::test]
async fn a_reader_that_goes_away_ends_the_command_without_a_panic() {
    let service = Service::start().await;
    let terminal = at(&service);
    let job = service.create_shell("seq 1000").await;
    service.finished(&job).await;
    for arguments in [
        &["jobs", "logs", &job][..],
        &["jobs", "logs", &job, "--json"],
        &["skills", "--json"],
    ] {
        let mut command = terminal.command(arguments);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = command.stdout(writer).spawn().unwrap();
        drop(command);
        let ran = CommandOutput::of(child).await;
        assert_eq!(
            (ran.code, ran.err.as_str()),
            (Some(0), ""),
            "{arguments:?}: {ran:?}"
        );
    }
    // Progress output without a reader is not an error either.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let prompt = bash("echo hello");
    let mut command = terminal.command(&["run", "shell", &prompt, "-m", "script/bash"]);
    let child = command
        .stderr(writer)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(command);
    let ran = CommandOutput::of(child).await;
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "hello\n"),
        "{ran:?}"
    );
}

#[tokio::test]
async fn run_shows_the_same_in_a_pipe_and_at_a_terminal() {
    let service = Service::start().await;
    let terminal = at(&service);
    let prompt =
        bash("echo '<!doctype html><p>hello' > a.html; echo made") + "\noutput html: a.html";
    let run = ["run", "html", &prompt, "-m", "script/bash"];
    let ran = terminal.run(&run).await;
    let id = ran.err.split(' ').next().unwrap().to_owned();
    insta::assert_snapshot!(redacted(&ran.err, &[&id]), @r"
    job_0                                queued
    ⚡ shell.exec: echo '<!doctype html><p>hello' > a.html; echo made
      ✓ N.N s, 1 line
    ⚡ set_output: a.html
      ⬇ a.html (text/html, 24 bytes)
      ✓ N.N s
    ✓ job_0                                completed (N.N s, $0)
    saved ./a.html
    ");
    assert_eq!(ran.out, "made\n");
    let shown = Tty::show_all(&terminal, &run).await;
    for line in [
        "⚡ shell.exec: echo '<!doctype",
        "  ⬇ a.html",
        "made\n",
        "saved ./a-2.html\n",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert_eq!(terminal.read("a-2.html"), "<!doctype html><p>hello\n");
}
