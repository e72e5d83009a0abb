//! Profiles, and hidden input of values.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use reqwest::Method;
use serde_json::json;

use super::at;
use crate::support::{Service, Terminal, Tty};

const VALUE: &str = "correct horse battery";

#[tokio::test]
async fn a_profile_is_checked_kept_private_and_used() {
    let service = Service::start().await;
    let job = service.create_shell("true").await;
    let terminal = Terminal::new(&[]);
    let login = ["login", &service.url, "--profile", "prod"];
    let wrong = terminal.run_with_input(&login, "sk_wrong\n").await;
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(
        wrong
            .err
            .contains("nothing was stored: this key is not known"),
        "{wrong:?}"
    );
    let file = terminal.folder.path().join(".config/skillet/profiles.toml");
    assert!(!file.exists());

    let mut tty = Tty::spawn(&terminal, &login);
    tty.until_shown("(not shown): ", 1).await;
    tty.type_line(&service.key);
    assert_eq!(tty.ended().await, Some(0), "{}", tty.shown());
    tty.until_shown("as tenant default (scopes: jobs, admin)", 1)
        .await;
    assert!(!tty.shown().contains(&service.key), "{}", tty.shown());
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);

    let listed = terminal.run(&["jobs", "-q"]).await;
    assert_eq!(listed.out.trim(), job, "{listed:?}");
    let profiles = terminal.run(&["profiles"]).await;
    assert_eq!(
        profiles.out,
        format!("prod\tyes\t{}\nlocal\t\t\n", service.url)
    );
    // Options override the profile.
    let elsewhere = ["jobs", "--url", "http://127.0.0.1:1", "--api-key", "sk_x"];
    assert_eq!(terminal.run(&elsewhere).await.code, Some(1));
    let unknown = terminal.run(&["jobs", "--profile", "test"]).await;
    assert_eq!(
        unknown.err,
        "error: there is no profile `test`; there are: prod, local (`skillet login URL --profile test` creates it)\n"
    );
    terminal.run(&["profiles", "use", "local"]).await;
    assert_eq!(
        terminal
            .run(&["jobs", "-q", "--profile", "prod"])
            .await
            .out
            .trim(),
        job
    );
    let deleted = terminal.run(&["profiles", "delete", "prod"]).await;
    assert_eq!(deleted.out, "deleted prod\n");
    assert!(!std::fs::read_to_string(&file).unwrap().contains("sk_"));
}

#[tokio::test]
async fn open_gives_a_browser_an_address_that_signs_in_once() {
    let service = Service::without_worker().await;
    let folder = tempfile::tempdir().unwrap();
    let opened = folder.path().join("opened");
    let browser = folder.path().join("browser");
    let script = format!("#!/bin/sh\necho \"$1\" > {}\n", opened.display());
    std::fs::write(&browser, script).unwrap();
    std::fs::set_permissions(&browser, Permissions::from_mode(0o755)).unwrap();
    let open = ["open", "--url", &service.url, "--api-key", &service.key];

    let terminal = Terminal::new(&[("BROWSER", browser.to_str().unwrap())]);
    let run = terminal.run(&open).await;
    assert_eq!(
        run.out,
        format!("Opened {}/console/\n", service.url),
        "{run:?}"
    );
    let address = std::fs::read_to_string(&opened).unwrap();
    let code = address.trim().split_once("/console/#code=").unwrap().1;
    let begin = || {
        let request = service.anonymous(Method::POST, "/v1/session");
        request.json(&json!({"code": code})).send()
    };
    assert_eq!(begin().await.unwrap().status(), 204);
    assert_eq!(begin().await.unwrap().status(), 401);

    // Without a desktop, the command prints the URL.
    let bare = Terminal::new(&[("BROWSER", ""), ("DISPLAY", "")]);
    let printed = bare.run(&[&open[..], &["--print"]].concat()).await;
    assert!(printed.out.contains("/console/#code="), "{printed:?}");
    let home = folder.path().join("home");
    let nothing = bare
        .run(&["open", "--data-dir", home.to_str().unwrap()])
        .await;
    assert_eq!(nothing.code, Some(1));
    assert!(nothing.err.contains("`skillet up`"), "{nothing:?}");
}

#[tokio::test]
async fn a_secret_that_is_typed_is_not_shown() {
    let service = Service::start().await;
    let terminal = at(&service);
    let mut tty = Tty::spawn(&terminal, &["secrets", "set", "TYPED"]);
    tty.until_shown("Value of TYPED (not shown): ", 1).await;
    // Type a wrong value and remove it with Ctrl-U, then type a wrong letter and remove it with backspace.
    tty.type_keys(b"wrong\x15");
    tty.type_keys(VALUE.as_bytes());
    tty.type_keys("é\x7f\r".as_bytes());
    assert_eq!(tty.ended().await, Some(0), "{}", tty.shown());
    tty.until_shown("set TYPED", 1).await;
    assert!(!tty.shown().contains("horse"), "{}", tty.shown());

    let mut tty = Tty::spawn(&terminal, &["secrets", "set", "LATER"]);
    tty.until_shown("(not shown): ", 1).await;
    tty.type_keys(b"never\x03");
    assert_eq!(tty.ended().await, Some(130), "{}", tty.shown());
    assert_eq!(terminal.run(&["secrets", "-q"]).await.out, "TYPED\n");
}
