//! The file `service.json`: the address of a running service and its key.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::Context;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use crate::directory;

/// The address of a service and its key: the content of `service.json`.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct ServiceFile {
    pub(crate) url: String,
    pub(crate) api_key: String,
    pid: u32,
}

impl ServiceFile {
    /// The file of a service in this process.
    pub(super) fn new(address: SocketAddr, api_key: String) -> Self {
        // A service that listens on all addresses is also on localhost.
        let ip = if address.ip().is_unspecified() {
            Ipv4Addr::LOCALHOST.into()
        } else {
            address.ip()
        };
        let url = format!("http://{}", SocketAddr::new(ip, address.port()));
        Self {
            url,
            api_key,
            pid: std::process::id(),
        }
    }

    /// The path of the file in a data directory.
    pub(crate) fn path(home: &Path) -> PathBuf {
        home.join("service.json")
    }

    /// The service that runs in a data directory, if there is one.
    pub(crate) fn read(home: &Path) -> Option<Self> {
        let text = fs::read_to_string(Self::path(home)).ok()?;
        let file: Self = serde_json::from_str(&text).ok()?;
        let pid = Pid::from_raw(file.pid.cast_signed())?;
        // A service that was killed leaves its file behind.
        (test_kill_process(pid) != Err(rustix::io::Errno::SRCH)).then_some(file)
    }

    pub(super) fn write(&self, file: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        directory::write_private(file, &text).context("cannot write the address of the service")
    }
}
