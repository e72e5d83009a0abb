//! Python environments for tests.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use super::{has_program, is_all_required};

/// Returns a Python with packages from the registry, below the target directory, where later runs find it. Returns
/// `None` if the packages cannot be installed and not all tests must run. Keep the result in a `OnceCell`, because no
/// name may be installed twice at the same time.
pub(crate) async fn python_with(name: &str, packages: &[&str]) -> Option<PathBuf> {
    if !has_program("python3") {
        return None;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("python")
        .join(name);
    let python = folder.join("bin/python");
    let installed = folder.join("installed");
    let wanted = packages.join("\n");
    if std::fs::read_to_string(&installed).is_ok_and(|found| found == wanted) {
        return Some(python);
    }
    let folder = folder.to_str().unwrap();
    let is_there = run("python3".as_ref(), &["-m", "venv", folder]).await && {
        let quiet = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            // Python compiles the modules that are imported; pip would compile all.
            "--no-compile",
        ];
        run(&python, &[&quiet[..], packages].concat()).await
    };
    if is_there {
        std::fs::write(&installed, wanted).unwrap();
        return Some(python);
    }
    assert!(!is_all_required(), "{packages:?} cannot be installed");
    eprintln!("left out: {packages:?} cannot be installed here");
    None
}

async fn run(program: &Path, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command.status().await.is_ok_and(|status| status.success())
}
