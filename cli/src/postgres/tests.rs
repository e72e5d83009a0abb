//! Tests with the real server of this machine.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::postmaster::Holder;
use super::*;

const QUICK: PostgresSettings = PostgresSettings {
    durable: false,
    max_connections: 200,
};

/// A directory that the server's user may traverse. A temporary directory of root would be closed to that user.
fn directory() -> tempfile::TempDir {
    tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o711))
        .tempdir()
        .unwrap()
}

fn start(at: &Path) -> Result<Postgres, PostgresError> {
    Postgres::start(&at.join("postgres"), &at.join("cache"), QUICK, &|_| {})
}

/// The output of `psql` for a query, unaligned.
fn query(postgres: &Postgres, sql: &str) -> String {
    let bin = binaries::installed()
        .into_iter()
        .find(|at| at.join("psql").is_file())
        .expect("psql is installed");
    let output = Command::new(bin.join("psql"))
        .env_clear()
        .args([
            "--no-psqlrc",
            "--tuples-only",
            "--no-align",
            "--quiet",
            "-h",
        ])
        .arg(&postgres.socket.directory)
        .args(["-U", "postgres", "-c", sql])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn pid(postgres: &Postgres) -> u32 {
    postgres.server.as_ref().unwrap().pid()
}

/// Creates fake programs that only print their version. A shell writes them: if this process had a file open for
/// writing while another test spawns a process, running the file could fail.
pub(super) fn pretend_to_install(version: &str, bin: &Path) {
    let script = r#"
        for name in postgres initdb; do
            printf '#!/bin/sh\necho "postgres (PostgreSQL) %s"\n' "$1" >"$2/$name"
            chmod 755 "$2/$name"
        done"#;
    let status = Command::new("sh")
        .args(["-c", script, "sh", version])
        .arg(bin)
        .status()
        .unwrap();
    assert!(status.success());
}

/// Leaves the server running, as after the death of its Skillet process.
fn abandon(mut postgres: Postgres) {
    drop(postgres.server.take());
}

#[test]
fn what_was_committed_is_there_after_a_stop_and_a_start() {
    let at = directory();
    let postgres = start(at.path()).unwrap();
    query(&postgres, "create table kept as select 7 as n");
    postgres.stop().unwrap();
    let postgres = start(at.path()).unwrap();
    assert_eq!(query(&postgres, "select n from kept"), "7");
}

#[test]
fn the_server_is_private_and_has_our_settings() {
    let at = directory();
    let postgres = start(at.path()).unwrap();
    let mode = postgres
        .socket
        .directory
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    // If this process is root, the group has access too, but only the server is in that group.
    assert_eq!(mode & 0o707, 0o700);
    let sql = "select string_agg(name || '=' || setting, ' ' order by name) from pg_settings \
        where name in ('listen_addresses', 'fsync', 'server_encoding', 'max_connections')";
    assert_eq!(
        query(&postgres, sql),
        "fsync=off listen_addresses= max_connections=200 server_encoding=UTF8"
    );
}

#[test]
fn other_processes_of_the_servers_user_get_neither_to_its_socket_nor_to_its_files() {
    if !rustix::process::geteuid().is_root() {
        // The server runs as the user of this process, who can access everything.
        return;
    }
    for name in ["postgres".to_owned(), "x".repeat(100)] {
        let at = directory();
        let home = at.path().join(name);
        let postgres = Postgres::start(&home, &at.path().join("cache"), QUICK, &|_| {}).unwrap();
        let user = home.join("data").metadata().unwrap().uid();
        let nobodys_group = 65_534;
        for place in [&postgres.socket.directory, &home.join("data")] {
            let look = Command::new("ls")
                .arg(place)
                .uid(user)
                .gid(nobodys_group)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&look.stderr);
            assert!(said.contains("Permission denied"), "{look:?}");
        }
        let process = format!("/proc/{}/cwd/PG_VERSION", pid(&postgres));
        let look = Command::new("cat")
            .arg(process)
            .uid(user)
            .gid(nobodys_group)
            .output()
            .unwrap();
        assert!(!look.status.success(), "{look:?}");
        assert_eq!(query(&postgres, "select 7"), "7");
    }
}

#[test]
fn a_second_manager_of_the_same_directory_is_refused() {
    let at = directory();
    let _postgres = start(at.path()).unwrap();
    match start(at.path()).err() {
        Some(PostgresError::AlreadyManaged { pid, .. }) => {
            assert_eq!(pid, Some(std::process::id()));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_server_that_outlived_its_manager_is_adopted_and_can_be_stopped() {
    let at = directory();
    let postgres = start(at.path()).unwrap();
    let before = pid(&postgres);
    abandon(postgres);
    let postgres = start(at.path()).unwrap();
    assert_eq!(pid(&postgres), before);
    postgres.stop().unwrap();
    let holder =
        postmaster::holder(&at.path().canonicalize().unwrap().join("postgres/data")).unwrap();
    assert_eq!(holder, Holder::Nobody);
}

#[test]
fn a_server_that_was_killed_with_its_manager_recovers_though_nobody_reaps_it() {
    let at = directory();
    let postgres = start(at.path()).unwrap();
    query(&postgres, "create table kept as select 7 as n");
    let killed = pid(&postgres);
    Account::choose(&at.path().join("postgres/data"))
        .unwrap()
        .signal(killed, "KILL")
        .unwrap();
    // Its parent is this test, so it stays a zombie.
    abandon(postgres);
    let postgres = start(at.path()).unwrap();
    assert_ne!(pid(&postgres), killed);
    assert_eq!(query(&postgres, "select n from kept"), "7");
}

#[test]
#[cfg(target_os = "linux")]
fn a_stuck_process_of_a_killed_server_does_not_hinder_the_start() {
    let at = directory();
    let postgres = start(at.path()).unwrap();
    let stuck = query(
        &postgres,
        "select pid from pg_stat_activity where backend_type = 'checkpointer'",
    );
    let account = Account::choose(&at.path().join("postgres/data")).unwrap();
    account.signal(stuck.parse().unwrap(), "STOP").unwrap();
    account.signal(pid(&postgres), "KILL").unwrap();
    abandon(postgres);
    start(at.path()).unwrap();
}

#[test]
fn a_pid_file_whose_number_is_in_use_again_does_not_hinder_the_start() {
    let at = directory();
    start(at.path()).unwrap().stop().unwrap();
    // A process of the server's user, which Postgres itself takes for a running server.
    let cluster = at.path().join("postgres/data");
    let account = Account::choose(&cluster).unwrap();
    let mut stranger = account.command("sleep").arg("60").spawn().unwrap();
    let pid_file = cluster.join("postmaster.pid");
    std::fs::write(
        &pid_file,
        format!("{}\n{}\n", stranger.id(), cluster.display()),
    )
    .unwrap();
    account.give(&pid_file).unwrap();
    let started = start(at.path());
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    started.unwrap();
}

#[test]
fn a_cluster_that_was_never_finished_is_made_again() {
    let at = directory();
    let draft = directory::create(&at.path().join("postgres/data.new.1")).unwrap();
    std::fs::write(draft.join("PG_VERSION"), "1").unwrap();
    start(at.path()).unwrap();
    assert!(!draft.exists());
}

#[test]
fn a_long_path_gets_its_socket_elsewhere_and_privately() {
    let at = directory();
    let postgres = start(&at.path().join("x".repeat(100))).unwrap();
    let elsewhere = postgres.socket.directory.clone();
    assert!(elsewhere.starts_with("/tmp"));
    assert_eq!(
        elsewhere.metadata().unwrap().permissions().mode() & 0o707,
        0o700
    );
    assert_eq!(query(&postgres, "select 7"), "7");
    postgres.stop().unwrap();
    assert!(!elsewhere.exists());
}

#[test]
fn a_start_that_fails_quotes_the_log() {
    let at = directory();
    start(at.path()).unwrap().stop().unwrap();
    std::fs::write(
        at.path().join("postgres/data/postgresql.conf"),
        "no_such_setting = 1\n",
    )
    .unwrap();
    match start(at.path()).err() {
        Some(PostgresError::StartFailed { log, .. }) => {
            assert!(log.contains("no_such_setting"), "{log}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_cluster_of_another_version_is_refused_by_name() {
    let at = directory();
    start(at.path()).unwrap().stop().unwrap();
    std::fs::write(at.path().join("postgres/data/PG_VERSION"), "12\n").unwrap();
    match start(at.path()).err() {
        Some(PostgresError::OtherVersion { cluster, found, .. }) => {
            assert_eq!(cluster, 12);
            assert!(found.contains("PostgreSQL"), "{found}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn chosen_programs_that_are_too_old_are_refused() {
    let at = directory();
    pretend_to_install("13.4", at.path());
    let search = binaries::ProgramSearch {
        explicit: Some(at.path().to_owned()),
        installed: binaries::installed(),
        cache: at.path(),
        account: &Account::Own,
    };
    let error = search
        .find(at.path(), None, &|_| {})
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("it is PostgreSQL 13; 15 or newer is needed"),
        "{error}"
    );
}
