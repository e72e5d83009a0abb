//! JSON files that commands read.

use std::fs::File;
use std::io::{Read, stdin};
use std::path::Path;

use anyhow::Context;
use serde_json::Value;

/// Reads a JSON file. `-` reads standard input.
pub(crate) fn read(file: &Path) -> anyhow::Result<Value> {
    let mut text = String::new();
    let read = match file.to_str() {
        Some("-") => stdin().read_to_string(&mut text),
        _ => File::open(file).and_then(|mut file| file.read_to_string(&mut text)),
    };
    read.with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not JSON", file.display()))
}
