//! The release packages from `scripts/package`: they run a job without any other file of the repository.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{PROGRAM, bash, has_program, is_root};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/package");

#[test]
fn the_packages_run_a_job_in_a_clean_directory() {
    if !has_program("strip") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let packages = build(folder.path());
    let archive = with_extension(&packages, "gz");
    let installed = folder.path().join("archive");
    std::fs::create_dir(&installed).unwrap();
    run(Command::new("tar")
        .arg("-xzf")
        .arg(archive)
        .args(["--strip-components=1", "-C"])
        .arg(&installed));
    for document in [
        "README.md",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "completions/skillet.bash",
        "completions/_skillet",
        "completions/skillet.fish",
        "man/man1/skillet-jobs-list.1",
    ] {
        assert!(installed.join(document).is_file(), "{document}");
    }
    run_a_job(&installed.join("skillet"));

    if !has_program("dpkg") || !is_root() {
        return;
    }
    let package = with_extension(&packages, "deb");
    let installed = folder.path().join("debian");
    install_debian_package(package, &installed);
    assert!(installed.join("usr/share/doc/skillet/copyright").is_file());
    assert!(
        installed
            .join("usr/share/man/man1/skillet-run.1.gz")
            .is_file()
    );
    let completions = installed.join("usr/share/bash-completion/completions/skillet");
    assert!(
        std::fs::read_to_string(completions)
            .unwrap()
            .contains("SKILLET_COMPLETE")
    );
    let unit = installed.join("lib/systemd/system/skillet-worker.service");
    let unit = std::fs::read_to_string(unit).unwrap();
    assert!(unit.contains("ExecStart=/usr/bin/skillet worker"), "{unit}");
    run_a_job(&installed.join("usr/bin/skillet"));
}

/// Packages the program under test, by paths that are relative to the folder, and returns the paths of the packages.
fn build(folder: &Path) -> Vec<PathBuf> {
    std::os::unix::fs::symlink(PROGRAM, folder.join("program")).unwrap();
    let mut script = Command::new(SCRIPT);
    script.args(["--fast", "--binary", "program", "--out", "packages"]);
    let printed = run(script.current_dir(folder));
    let packages: Vec<_> = printed.lines().map(PathBuf::from).collect();
    for package in &packages {
        assert_eq!(
            package.parent(),
            Some(&*folder.canonicalize().unwrap().join("packages"))
        );
    }
    packages
}

fn with_extension<'a>(packages: &'a [PathBuf], extension: &str) -> &'a Path {
    let has_it = |path: &&PathBuf| path.extension().is_some_and(|it| it == extension);
    let found = packages.iter().find(has_it);
    found.unwrap_or_else(|| panic!("no .{extension} in {packages:?}"))
}

/// Installs the package into a directory with its own package database.
fn install_debian_package(package: &Path, root: &Path) {
    let database = root.join("var/lib/dpkg");
    for part in ["info", "updates"] {
        std::fs::create_dir_all(database.join(part)).unwrap();
    }
    std::fs::write(database.join("status"), "").unwrap();
    run(Command::new("dpkg")
        .args(["--force-not-root", "--force-depends", "--root"])
        .arg(root)
        .arg("--install")
        .arg(package));
}

/// Runs a job that needs no network, in a service that the command starts and stops.
fn run_a_job(program: &Path) {
    let folder = tempfile::tempdir().unwrap();
    // A program started as root starts PostgreSQL as another user.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o711);
    std::fs::set_permissions(folder.path(), open).unwrap();
    let mut command = Command::new(program);
    command
        .args(["run", "shell", &bash("echo packaged"), "-m", "script/bash"])
        .arg("--data-dir")
        .arg(folder.path().join("data"))
        .current_dir(folder.path())
        .env_clear()
        .env("HOME", folder.path());
    for name in ["PATH", "SKILLET_PG_BIN"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    assert_eq!(run(&mut command), "packaged\n");
}

/// Runs the command to its end, and returns what it printed.
fn run(command: &mut Command) -> String {
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{command:?}: {ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}
