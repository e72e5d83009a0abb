//! The browser of the desktop.

use std::env;
use std::process::{Command, Stdio};

use anyhow::Context;

/// Opens an address in a browser. Returns `false` if there is no desktop.
pub(crate) fn open(address: &str) -> anyhow::Result<bool> {
    let Some(program) = browser() else {
        return Ok(false);
    };
    let status = Command::new(&program)
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .with_context(|| program.clone())?;
    anyhow::ensure!(status.success(), "{program} ended with {status}");
    Ok(true)
}

/// The program that opens addresses, if there is a desktop.
fn browser() -> Option<String> {
    if let Some(browser) = env::var("BROWSER").ok().filter(|name| !name.is_empty()) {
        return Some(browser);
    }
    if cfg!(target_os = "macos") {
        return Some("open".to_owned());
    }
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"]
        .map(|name| env::var_os(name).is_some_and(|display| !display.is_empty()));
    has_desktop.contains(&true).then(|| "xdg-open".to_owned())
}
