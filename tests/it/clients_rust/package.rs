//! The published packages.

use std::process::Command;

#[test]
fn the_crates_can_be_packaged() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let target = tempfile::tempdir().unwrap();
    let packaged = Command::new(cargo)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .args(["package", "-p", "skillet-wire", "-p", "skillet-client"])
        // Without verification, since this workspace compiles the same sources.
        .args(["--offline", "--no-verify", "--allow-dirty", "--target-dir"])
        .arg(target.path())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&packaged.stderr);
    assert!(packaged.status.success(), "{printed}");
    for name in ["skillet-wire-0.1.0.crate", "skillet-client-0.1.0.crate"] {
        assert!(
            target.path().join("package").join(name).exists(),
            "{printed}"
        );
    }
}
