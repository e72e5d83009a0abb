//! The package indexes of the machine, as its operator configured pip and npm.

use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use reqwest::Url;
use serde::Deserialize;
use tokio::process::Command;
use tokio::time::timeout;

/// The timeout for reading the configuration of pip or npm.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Prints the indexes of pip, and the host of the files of the default index.
const ASK_PIP: &str = "\
import json
from pip._internal.configuration import Configuration
from pip._internal.models.index import PyPI
found = Configuration(isolated=False)
found.load()
pairs = dict(found.items())
def setting(name):
    keys = (f':env:.{name}', f'install.{name}', f'global.{name}')
    return next((pairs[key] for key in keys if key in pairs), None)
index, extra = setting('index-url') or PyPI.simple_url, (setting('extra-index-url') or '').split()
files = [f'https://{PyPI.file_storage_domain}/'] if index == PyPI.simple_url else []
print(json.dumps({'urls': [index, *extra], 'files': files}))
";

/// The source of packages of one kind.
#[derive(Debug, Deserialize)]
pub(super) struct PackageIndex {
    /// The URL of the index, followed by those of further indexes.
    pub(super) urls: Vec<String>,
    /// The URLs of the index's files, if they differ.
    #[serde(default)]
    files: Vec<String>,
}

impl PackageIndex {
    /// Reads the indexes of pip.
    pub(super) async fn of_pip() -> anyhow::Result<Self> {
        let printed = ask("python3", &["-c", ASK_PIP]).await;
        let printed = printed.context("pip is not installed on this worker")?;
        Ok(serde_json::from_str(&printed)?)
    }

    /// Reads the registry of npm.
    pub(super) async fn of_npm() -> anyhow::Result<Self> {
        let printed = ask("npm", &["config", "get", "registry"]).await;
        let url = printed.context("npm is not installed on this worker")?;
        Ok(Self {
            urls: vec![url.trim().to_owned()],
            files: Vec::new(),
        })
    }

    /// Returns the hosts with their ports, in the form in which a skill declares them.
    pub(super) fn hosts(&self) -> anyhow::Result<Vec<String>> {
        let urls = self.urls.iter().chain(&self.files);
        let host = |url: &String| {
            let url = Url::parse(url).context("the configured index is not a valid URL")?;
            let host = url.host_str().context("the configured index has no host")?;
            let port = url
                .port_or_known_default()
                .context("the configured index has no port")?;
            Ok(format!("{host}:{port}"))
        };
        urls.map(host).collect()
    }
}

/// Runs a program of the machine, not of a job, outside any sandbox.
async fn ask(program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let asking = Command::new(program)
        .args(arguments)
        // The same search path as in a sandbox.
        .env("PATH", worker_sandbox::PATH)
        .current_dir("/")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let done = timeout(TIMEOUT, asking)
        .await
        .context("it took too long")??;
    anyhow::ensure!(done.status.success(), "it failed");
    Ok(String::from_utf8(done.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_the_ports_of_their_urls() {
        let index = PackageIndex {
            urls: vec![
                "https://user:word@index.example/simple".to_owned(),
                "http://b.lan:3141/x".to_owned(),
            ],
            files: vec!["https://files.example/".to_owned()],
        };
        let hosts = index.hosts().unwrap();
        assert_eq!(
            hosts,
            ["index.example:443", "b.lan:3141", "files.example:443"]
        );
    }
}
