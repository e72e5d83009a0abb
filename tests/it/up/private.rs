//! File permissions of a data directory.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use reqwest::multipart::{Form, Part};
use serde_json::Value;

use crate::support::{PROGRAM, Process, Terminal, is_root};

/// A user that every machine has. PostgreSQL needs a user with a name.
const NOBODY: u32 = 65_534;
/// An unused user.
const UNUSED_USER: u32 = 61_199;

#[tokio::test]
async fn nobody_else_reads_them_whatever_the_umask() {
    let terminal = Terminal::new(&[]);
    look_into(&terminal.folder.path().join("data"), &[]).await;
}

#[tokio::test]
async fn nobody_else_reads_those_of_an_ordinary_user() {
    if !is_root() {
        return;
    }
    let terminal = Terminal::new(&[]);
    let home = terminal.folder.path().join("data");
    std::fs::create_dir(&home).unwrap();
    chown(&home, Some(NOBODY), Some(NOBODY)).unwrap();
    let wrapper = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    look_into(&home, &wrapper).await;
}

/// Runs a service in a directory that was open to other users before, and checks all files that it creates.
async fn look_into(home: &Path, wrapper: &[&str]) {
    // An earlier release or a user may have created these directories.
    let assets = home.join("assets");
    std::fs::create_dir_all(&assets).unwrap();
    std::fs::set_permissions(home, Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(&assets, Permissions::from_mode(0o755)).unwrap();
    let owner = home.metadata().unwrap().uid();
    chown(&assets, Some(owner), Some(owner)).unwrap();

    let mut command = wrapper.to_vec();
    command.extend(["sh", "-c", "umask 0; exec \"$0\" \"$@\""]);
    let arguments = [
        "up",
        "--data-dir",
        home.to_str().unwrap(),
        "--listen",
        "127.0.0.1:0",
        "--sandbox",
        "off",
    ];
    let caches = [("XDG_CACHE_HOME".to_owned(), home.display().to_string())];
    let log = home.with_extension("log");
    let mut up = Process::start_through(&command, PROGRAM.as_ref(), &arguments, &caches, &log);
    let line = up.first_line();
    let url = line.strip_prefix("Skillet is ready at ");
    let url = url.unwrap_or_else(|| panic!("{line}\n{}", std::fs::read_to_string(&log).unwrap()));
    upload(url, home).await;

    for path in entries(home) {
        let metadata = path.symlink_metadata().unwrap();
        let mode = metadata.mode() & 0o777;
        // The group of the database can access its files. The users of the database and of jobs can traverse the
        // other directories, but not list them.
        let allowed = match metadata.is_dir() {
            true if path == *home => 0o755,
            true if path.ends_with("postgres") => 0o710,
            true if path.ends_with("postgres/socket") => 0o770,
            true if path.starts_with(home.join("workspaces")) => 0o711,
            true => 0o700,
            false => 0o600,
        };
        let is_socket = path.to_string_lossy().contains("/.s.PGSQL.");
        assert!(
            mode & !allowed == 0 || is_socket,
            "{} has the mode {mode:o}",
            path.display()
        );
    }
    if rustix::process::geteuid().is_root() {
        let looks = [
            ("ls", "assets"),
            ("ls", "workspaces"),
            ("ls", "postgres"),
            ("cat", "master_key"),
            ("cat", "api_key"),
            ("cat", "service.json"),
        ];
        for (program, place) in looks {
            let mut look = Command::new(program);
            look.arg(home.join(place)).uid(UNUSED_USER).gid(UNUSED_USER);
            let said = look.output().unwrap().stderr;
            let said = String::from_utf8_lossy(&said);
            assert!(said.contains("Permission denied"), "{place}: {said}");
        }
    }
    up.signal(rustix::process::Signal::TERM);
    assert!(up.wait(), "{}", std::fs::read_to_string(&log).unwrap());
}

async fn upload(url: &str, home: &Path) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let key = std::fs::read_to_string(home.join("api_key")).unwrap();
    let part = Part::bytes(b"nobody else's".as_slice()).file_name("private.txt");
    let answer = reqwest::Client::new()
        .post(format!("{url}/v1/assets"))
        .bearer_auth(key)
        .multipart(Form::new().part("file", part))
        .send()
        .await
        .unwrap();
    let asset: Value = answer.json().await.unwrap();
    let sha256 = asset["sha256"].as_str().unwrap();
    let blob = home.join("assets/sha256").join(&sha256[..2]).join(sha256);
    assert!(blob.is_file(), "{}", blob.display());
}

/// Returns a directory and everything in it, except the content of the database.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut all = vec![directory.to_owned()];
    if directory.ends_with("postgres/data") {
        return all;
    }
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            all.extend(entries(&path));
        } else {
            all.push(path);
        }
    }
    all
}
