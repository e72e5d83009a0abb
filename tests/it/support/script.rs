//! Scripts of the repository that install programs from package registries.

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use super::{Service, is_all_required};

/// The exit status of a script that cannot install what it needs.
const CANNOT_INSTALL: i32 = 69;

/// Runs the script at this path of the repository, which must succeed, and returns its output. Environment variables
/// contain the URL and the key of the service. Returns `None` if the script cannot install what it needs and may be
/// left out.
pub(crate) async fn run_script(
    service: &Service,
    path: &str,
    arguments: &[&str],
) -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(root.join(path))
        .args(arguments)
        .env("SKILLET_URL", &service.url)
        .env("SKILLET_API_KEY", &service.key)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    if output.status.code() == Some(CANNOT_INSTALL) && !is_all_required() {
        eprintln!("left out: {path} cannot install what it needs here");
        return None;
    }
    let printed = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}\n{errors}");
    Some(printed)
}
