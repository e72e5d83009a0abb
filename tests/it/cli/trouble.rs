//! Invalid usage of the command line, and broken environments.

use tokio::process::Child;

use super::at;
use crate::support::{CommandOutput, Service, Terminal};

#[tokio::test]
async fn a_wrong_argument_is_said_in_plain_words() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().to_str().unwrap();
    let terminal = Terminal::new(&[("SKILLET_DATA_DIR", home)]);
    let ran = terminal.run(&["get", "nonsense"]).await;
    assert_eq!(ran.code, Some(2));
    let expected = "error: invalid value 'nonsense' for '<JOB>': must be the id of a job, such as \
                    job_019aa0c45e8d70008000000000000000\n";
    assert!(ran.err.starts_with(expected), "{ran:?}");

    // The environment variable is not part of the usage line.
    let ran = terminal.run(&["run", "shell"]).await;
    assert_eq!(ran.code, Some(2));
    let usage = "Usage: skillet run [OPTIONS] <SKILL> [PROMPT]\n";
    assert!(ran.err.contains(usage), "{ran:?}");
    let help = terminal.run(&["keys", "create", "--help"]).await;
    let usage = "Usage: skillet keys create [OPTIONS]\n";
    assert!(help.out.contains(usage), "{help:?}");
}

#[tokio::test]
async fn a_url_without_a_scheme_is_told_what_is_missing() {
    for url in [
        "127.0.0.1:8420",
        "localhost:8420",
        "skillet.example.com",
        "",
    ] {
        let terminal = Terminal::new(&[("SKILLET_API_KEY", "sk_x")]);
        let ran = terminal.run(&["list", "--url", url]).await;
        let expected = format!(
            "error: `{url}` is not the URL of a service: it must begin with http:// or https://, \
             e.g. http://127.0.0.1:8420; pass such a URL or set SKILLET_URL\n"
        );
        assert_eq!((ran.code, ran.err), (Some(1), expected));
    }
}

#[tokio::test]
async fn a_key_that_the_service_does_not_know_is_told_so() {
    let service = Service::without_worker().await;
    let terminal = Terminal::new(&[("SKILLET_URL", &service.url), ("SKILLET_API_KEY", "sk_no")]);
    let ran = terminal.run(&["list"]).await;
    let expected = "error: this key is not known to the service: it may be mistyped, revoked, or the key of another service\n";
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), expected));
}

#[tokio::test]
async fn a_command_works_where_no_thread_can_be_started_and_a_service_says_so() {
    let service = Service::start().await;
    let job = service.create_shell("echo done").await;
    service.finished(&job).await;
    let terminal = at(&service);
    std::fs::write(terminal.folder.path().join("in.txt"), "x").unwrap();
    let home = terminal.folder.path().to_str().unwrap();
    let port = service.url.rsplit_once(':').unwrap().1;
    let by_name = format!("http://localhost:{port}");
    let commands: [&[&str]; 5] = [
        &["list", "--url", &by_name],
        &["watch", &job],
        &["agents", "delete", "nope"],
        &[
            "run",
            "shell",
            "```bash\ncat in.txt\n```",
            "-m",
            "script/bash",
            "-i",
            "in.txt",
        ],
        &["list", "--url", "http://no.such.host.invalid"],
    ];
    let codes = [0, 0, 1, 0, 1];
    for (arguments, code) in commands.into_iter().zip(codes) {
        let ran = CommandOutput::of(without_threads(&terminal, arguments)).await;
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert!(!ran.err.contains("panicked"), "{arguments:?}: {ran:?}");
    }
    let up = ["up", "--data-dir", home, "--listen", "127.0.0.1:0"];
    let ran = CommandOutput::of(without_threads(&terminal, &up)).await;
    let expected = "error: a service needs 16 threads, but the system refuses to start them: raise the process limit";
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.starts_with(expected), "{ran:?}");
}

/// Starts a command that cannot create threads. Root is exempt from this limit, so root uses another user.
fn without_threads(terminal: &Terminal, arguments: &[&str]) -> Child {
    let limit = ["prlimit", "--nproc=1"];
    let user = [
        "setpriv",
        "--reuid=61198",
        "--regid=61198",
        "--clear-groups",
    ];
    let is_root = rustix::process::geteuid().is_root();
    let user: &[&str] = if is_root { &user } else { &[] };
    terminal.spawn_through(&[&limit, user].concat(), arguments)
}
