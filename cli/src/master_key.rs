//! The master keys of secrets: from the configuration, or from a file in the data directory.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use shared::secret::{MasterKeys, generate_master_key};

use crate::args::MasterKeyOptions;
use crate::directory;

/// Returns the configured keys, or `None` if there are none.
pub(crate) fn configured(options: &MasterKeyOptions) -> anyhow::Result<Option<MasterKeys>> {
    // An empty variable counts as not set.
    let is_some = |key: &&str| !key.trim().is_empty();
    let current = options.master_key.as_deref().filter(is_some);
    let earlier = options.previous_master_keys.iter().map(String::as_str);
    let earlier: Vec<_> = earlier.filter(is_some).collect();
    let Some(current) = current else {
        ensure!(
            earlier.is_empty(),
            "there are previous master keys but no current one: set SKILLET_MASTER_KEY, too"
        );
        return Ok(None);
    };
    MasterKeys::parse(current, []).context("in SKILLET_MASTER_KEY (--master-key)")?;
    MasterKeys::parse(current, earlier)
        .context("in SKILLET_PREVIOUS_MASTER_KEYS (--previous-master-keys)")
        .map(Some)
}

/// The key file of a data directory, with one key per line: the current key, then previous keys. Only the holder of the
/// directory lock may change it.
pub(crate) struct KeyFile(PathBuf);

impl KeyFile {
    pub(crate) fn of(home: &Path) -> Self {
        Self(home.join("master_key"))
    }

    /// Reads the keys. Creates the first key if there is no file.
    pub(crate) fn read_or_make(&self) -> anyhow::Result<MasterKeys> {
        if !self.0.exists() {
            self.write(&[generate_master_key()])?;
        }
        self.parse(&self.read()?)
    }

    /// Adds a new current key. The existing keys stay as previous keys until [`Self::forget_earlier`] removes them.
    pub(crate) fn renew(&self) -> anyhow::Result<MasterKeys> {
        let mut keys = self.read()?;
        self.parse(&keys)?;
        keys.insert(0, generate_master_key());
        self.write(&keys)?;
        self.parse(&keys)
    }

    /// Removes all keys except the current one. Nothing may be encrypted under the other keys.
    pub(crate) fn forget_earlier(&self) -> anyhow::Result<()> {
        let mut keys = self.read()?;
        keys.truncate(1);
        self.write(&keys)
    }

    fn read(&self) -> anyhow::Result<Vec<String>> {
        let text = std::fs::read_to_string(&self.0)
            .with_context(|| format!("cannot read {}", self.0.display()))?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        Ok(lines.map(str::to_owned).collect())
    }

    fn write(&self, keys: &[String]) -> anyhow::Result<()> {
        directory::write_private(&self.0, &(keys.join("\n") + "\n"))
    }

    fn parse(&self, keys: &[String]) -> anyhow::Result<MasterKeys> {
        let mut keys = keys.iter().map(String::as_str);
        MasterKeys::parse(keys.next().unwrap_or_default(), keys)
            .with_context(|| format!("in {}", self.0.display()))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn options(current: Option<&str>, earlier: &[&str]) -> MasterKeyOptions {
        MasterKeyOptions {
            master_key: current.map(str::to_owned),
            previous_master_keys: earlier.iter().map(|key| (*key).to_owned()).collect(),
        }
    }

    #[test]
    fn what_is_wrong_with_a_key_is_said_without_showing_it() {
        let good = generate_master_key();
        let error = |options| format!("{:#}", configured(&options).unwrap_err());
        let wrong = error(options(Some("hunter2"), &[]));
        assert!(
            wrong
                .starts_with("in SKILLET_MASTER_KEY (--master-key): a master key must be 32 bytes"),
            "{wrong}"
        );
        let wrong_before = error(options(Some(&good), &[&good, "hunter2"]));
        assert!(
            wrong_before.starts_with("in SKILLET_PREVIOUS_MASTER_KEYS "),
            "{wrong_before}"
        );
        for error in [wrong, wrong_before] {
            assert!(
                !error.contains("hunter2") && !error.contains(&good),
                "{error}"
            );
        }
        assert!(error(options(None, &[&good])).contains("set SKILLET_MASTER_KEY"));
        assert!(configured(&options(None, &[])).unwrap().is_none());
        assert!(configured(&options(Some(" "), &[""])).unwrap().is_none());
        assert!(
            configured(&options(Some(&good), &["", &good]))
                .unwrap()
                .is_some()
        );
    }

    #[test]
    fn the_file_of_a_directory_is_made_once_and_for_its_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        let file = KeyFile::of(home.path());
        assert!(file.renew().is_err(), "there is nothing to rotate");
        let first = file.read_or_make().unwrap();
        let again = file.read_or_make().unwrap();
        assert_eq!(first.current_id(), again.current_id());
        let mode = file.0.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);

        let renewed = file.renew().unwrap();
        assert_ne!(renewed.current_id(), first.current_id());
        assert!(format!("{renewed:?}").contains(first.current_id()));
        file.forget_earlier().unwrap();
        let kept = file.read_or_make().unwrap();
        assert_eq!(kept.current_id(), renewed.current_id());
        assert!(!format!("{kept:?}").contains(first.current_id()));

        std::fs::write(&file.0, "hunter2").unwrap();
        let error = format!("{:#}", file.read_or_make().unwrap_err());
        assert!(error.contains("master_key: a master key must be") && !error.contains("hunter2"));
    }
}
