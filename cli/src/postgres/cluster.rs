//! The cluster: the files that `initdb` creates and that one major version can read.

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

/// The time limit of `initdb`. It takes half a second, and much longer on a disk that syncs slowly. At the limit it is
/// killed and the start fails.
const INIT_LIMIT: Duration = Duration::from_secs(120);

/// The major version that created the cluster, or `None` if there is no cluster yet.
pub(super) fn version(directory: &Directory) -> Result<Option<u32>, PostgresError> {
    let cluster = directory.cluster();
    if !cluster.exists() {
        return Ok(None);
    }
    // The complete cluster is moved into place by a rename, so from here on a missing file is an error.
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

/// Creates the cluster in a draft directory, then moves it into place.
pub(super) fn create(
    directory: &Directory,
    account: &Account,
    binaries: &Binaries,
    settings: PostgresSettings,
) -> Result<(), PostgresError> {
    account.check_name()?;
    if let Err(error) = directory.remove_drafts() {
        // An orphaned `initdb` may still write to a draft. It does not disturb the new one.
        tracing::debug!(%error, "an incomplete cluster was not removed");
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
        // This is safe because only this user can enter the socket directory.
        "--auth=trust",
        "--encoding=UTF8",
        // This locale exists everywhere, and its sort order never changes under an index.
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
