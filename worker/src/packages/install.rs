//! The installation of a layer, in a sandbox that reaches only the package indexes. Wheels are unpacked and npm runs
//! no scripts, so code of a package runs only if a requirement is the URL of a source archive.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde_json::Map;
use shared::skill::Network;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;
use worker_egress::Egress;
use worker_sandbox::{CommandEnd, SandboxCommand, SandboxLimits};
use worker_workspace::Workspace;

use super::PackageInstaller;
use super::index::PackageIndex;

/// The maximum duration of an installation.
const TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// The maximum size of a layer in bytes.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;
/// The maximum number of bytes of pip's and npm's output in an error message.
const MAX_WORDS_BYTES: usize = 1000;
/// The maximum number of bytes of their output that are read.
const MAX_OUTPUT_BYTES: u64 = 256 * 1024;
/// Installs the packages that the files name, and makes them readable for every user.
const SCRIPT: &str = r#"
set -euo pipefail
exec 2>&1
mkdir -p layer
for folder in . scripts; do
    if [[ -f $folder/requirements.txt ]]; then
        (cd "$folder" && python3 -m pip --no-input install --quiet --disable-pip-version-check \
            --no-cache-dir --only-binary :all: --upgrade --target /workspace/layer/python \
            "${PIP_INDEXES[@]}" -r requirements.txt)
    fi
    if [[ -f $folder/package.json ]]; then
        mkdir -p layer/node
        cp "$folder/package.json" layer/node/
        how=install
        [[ -f $folder/package-lock.json ]] && cp "$folder/package-lock.json" layer/node/ && how=ci
        (cd layer/node && npm "$how" --ignore-scripts --omit=dev --no-audit --no-fund --loglevel=error)
    fi
done
chmod -R u+rwX,go+rX,go-w layer
"#;

impl PackageInstaller<'_> {
    /// Installs the packages that the files of a skill name into the folder `layer`, unless it exists. An
    /// error is a message for people.
    pub(super) async fn install(
        self,
        files: &[(String, Vec<u8>)],
        layer: &Path,
    ) -> Result<(), String> {
        if layer.exists() {
            return Ok(());
        }
        let path = self
            .workspaces
            .join(format!("packages-{}", uuid::Uuid::now_v7()));
        let identity = self
            .sandbox
            .identity()
            .map_err(|error| format!("{error:#}"))?;
        let workspace = Workspace::new(path, identity);
        let installed = match timeout(TIMEOUT, self.install_in(files, &workspace)).await {
            Ok(installed) => installed.map_err(|error| format!("{error:#}")),
            Err(_) => Err(format!("it took longer than {} s", TIMEOUT.as_secs())),
        };
        workspace.job_directory().quiesce().await;
        installed?;
        let made = workspace.job_directory().path().join("workspace/layer");
        let is_folder = fs::symlink_metadata(&made).is_ok_and(|made| made.is_dir());
        if !is_folder {
            return Err("the installation created no packages".to_owned());
        }
        // The rename is atomic. Another worker with this data directory may have been faster.
        match fs::rename(made, layer) {
            Err(error) if !layer.exists() => Err(format!("the packages cannot be stored: {error}")),
            _ => allow_traversal(layer).map_err(|error| error.to_string()),
        }
    }

    async fn install_in(
        self,
        files: &[(String, Vec<u8>)],
        workspace: &Workspace,
    ) -> anyhow::Result<()> {
        workspace.create_directory("scripts", 0o755)?;
        for (path, content) in files {
            use std::io::Write;
            workspace.create_file(path, 0o644)?.write_all(content)?;
        }
        let names = |name: &str| files.iter().any(|(path, _)| path.ends_with(name));
        let mut hosts = Vec::new();
        let mut script = String::from("PIP_INDEXES=()\n");
        if names("requirements.txt") {
            let index = PackageIndex::of_pip().await?;
            hosts.extend(index.hosts()?);
            for (number, url) in index.urls.iter().enumerate() {
                let option = if number == 0 {
                    "--index-url"
                } else {
                    "--extra-index-url"
                };
                script += &format!("PIP_INDEXES+=({option} '{}')\n", url.replace('\'', ""));
            }
        }
        let mut environment = vec![("npm_config_cache".to_owned(), "/tmp/npm".to_owned())];
        if names("package.json") {
            let index = PackageIndex::of_npm().await?;
            hosts.extend(index.hosts()?);
            environment.extend(
                index
                    .urls
                    .first()
                    .map(|url| ("npm_config_registry".to_owned(), url.clone())),
            );
        }
        hosts.dedup();
        let network = Network::parse(hosts.iter().map(String::as_str))?;
        let allowed = self.egress_allowed.clone();
        let egress = Egress::new(&network, &Map::new(), |_| None, allowed)?;
        script += SCRIPT;
        let mut command = SandboxCommand {
            script: &script,
            environment,
            programs: None,
            listeners: Vec::new(),
            hosts: String::new(),
            limits: SandboxLimits {
                disk_bytes: MAX_BYTES,
                ..SandboxLimits::DEFAULT
            },
            reads: false,
        };
        let egress = egress.context("no index is configured")?;
        egress.lead(&mut command);
        let _permit = self.command_permits.acquire().await?;
        let mut running = self
            .sandbox
            .start(command, workspace.job_directory())
            .await?;
        let listeners = running.take_listeners();
        let (stdout, _stderr) = running.take_output();
        let mut words = Vec::new();
        let mut reading = stdout.take(MAX_OUTPUT_BYTES);
        let ending = async {
            let read = reading.read_to_end(&mut words).await;
            let ended = running.ended().await?;
            read?;
            anyhow::Ok(ended)
        };
        let ended = tokio::select! {
            ended = ending => ended?,
            // Serving never ends by itself.
            () = egress.serve(listeners) => anyhow::bail!("the network was lost"),
        };
        check(&ended, &words, &egress)
    }
}

/// Checks that the command succeeded. The error contains the output of pip or npm.
fn check(ended: &CommandEnd, words: &[u8], egress: &Egress) -> anyhow::Result<()> {
    if let Some(limit) = ended.limit {
        anyhow::bail!("it reached a limit of its sandbox ({limit:?})");
    }
    if ended.exit_code == Some(0) {
        return Ok(());
    }
    let words = String::from_utf8_lossy(words);
    let words = words.trim();
    let start = words.ceil_char_boundary(words.len().saturating_sub(MAX_WORDS_BYTES));
    let refused = egress.refused();
    let refused = match refused.as_slice() {
        [] => String::new(),
        refused => format!(" (not allowed: {})", refused.join(", ")),
    };
    anyhow::bail!("{}{refused}", &words[start..])
}

/// Makes a folder accessible to the users of jobs.
pub(super) fn allow_traversal(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o755))
}
