//! One installation of Postgres: its programs and their version.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use super::account::Account;

/// The programs of one version, which run on this machine.
#[derive(Debug)]
pub(super) struct Binaries {
    directory: PathBuf,
    pub(super) major: u32,
}

impl Binaries {
    /// Checks a directory of programs and reads the version of its server.
    pub(super) fn probe(directory: &Path, account: &Account) -> anyhow::Result<Self> {
        for name in ["postgres", "initdb"] {
            ensure!(
                directory.join(name).is_file(),
                "there is no `{name}` in {}",
                directory.display()
            );
        }
        let server = directory.join("postgres");
        let output = account
            .command(&server)
            .arg("--version")
            .output()
            .with_context(|| format!("cannot run {}", server.display()))?;
        let major = parse_major(&String::from_utf8_lossy(&output.stdout)).with_context(|| {
            let complaint = String::from_utf8_lossy(&output.stderr);
            format!(
                "{} reports no version: {}",
                server.display(),
                complaint.trim()
            )
        })?;
        Ok(Self {
            directory: directory.to_owned(),
            major,
        })
    }

    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub(super) fn describe(&self) -> String {
        format!("PostgreSQL {} in {}", self.major, self.directory.display())
    }
}

/// Parses `postgres (PostgreSQL) 15.18 (Debian 15.18-1)` and `… 19devel`.
fn parse_major(text: &str) -> Option<u32> {
    let (_, version) = text.split_once("(PostgreSQL) ")?;
    let digits = version
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(version.len());
    version[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_major_version_is_read_from_releases_and_previews() {
        assert_eq!(
            parse_major("postgres (PostgreSQL) 15.18 (Debian 15.18-1)\n"),
            Some(15)
        );
        assert_eq!(parse_major("postgres (PostgreSQL) 19devel\n"), Some(19));
        assert_eq!(parse_major("something else"), None);
    }
}
