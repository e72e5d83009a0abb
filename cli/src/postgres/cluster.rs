//! The cluster: the files that `initdb` makes and that one major version can read.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::time::Duration;

use super::account::Account;
use super::directory::Directory;
use super::error::PostgresError;
use super::installation::Binaries;
use super::program;
use super::settings::PostgresSettings;

/// How long `initdb` may take. It takes half a second, and much longer on a disk that syncs slowly;
/// at the limit it is killed and the start fails.
const INIT_LIMIT: Duration = Duration::from_secs(120);

/// The major version that made the cluster, or `None` before there is one.
pub(super) fn version(directory: &Directory) -> Result<Option<u32>, PostgresError> {
    let cluster = directory.cluster();
    if !cluster.exists() {
        return Ok(None);
    }
    // The cluster appears by a rename when it is complete, so from here on a missing file is an error.
    let path = cluster.join("PG_VERSION");
    fs::read_to_string(&path)
        .and_then(|text| {
            text.trim()
                .parse()
                .map_err(|_| io::Error::from(io::ErrorKind::InvalidData))
        })
        .map(Some)
        .map_err(PostgresError::io("read", &path))
}

/// Makes the cluster aside and then moves it into place.
pub(super) fn create(
    directory: &Directory,
    account: &Account,
    binaries: &Binaries,
    settings: PostgresSettings,
) -> Result<(), PostgresError> {
    account.check_name()?;
    if let Err(error) = directory.remove_drafts() {
        // An orphaned `initdb` still fills one. It is in nobody's way.
        tracing::debug!(%error, "a half-made cluster stays");
    }
    let draft = directory.draft();
    DirBuilder::new()
        .mode(0o700)
        .create(&draft)
        .map_err(PostgresError::io("create", &draft))?;
    account.give(&draft)?;

    let mut initdb = account.command(binaries.program("initdb"));
    initdb.arg("--pgdata").arg(&draft).args([
        "--username=postgres",
        // Within a socket directory that only this user can enter.
        "--auth=trust",
        "--encoding=UTF8",
        // Exists everywhere and never changes its sort order under an index.
        "--locale=C",
        "--no-instructions",
    ]);
    if !settings.durable {
        initdb.arg("--no-sync");
    }
    let log = directory.new_log()?;
    let status = program::run(&mut initdb, &log, INIT_LIMIT)
        .map_err(PostgresError::io("run", &binaries.program("initdb")))?;
    if !status.success() {
        return Err(PostgresError::InitFailed {
            output: format!("{status}; {}", directory.log_tail()),
        });
    }

    fs::rename(&draft, directory.cluster()).map_err(PostgresError::io("rename", &draft))?;
    if settings.durable {
        File::open(directory.path())
            .and_then(|parent| parent.sync_all())
            .map_err(PostgresError::io("sync", directory.path()))?;
    }
    Ok(())
}
