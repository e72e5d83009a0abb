//! PgBouncer in front of a database.

use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use reqwest::Url;
use tempfile::TempDir;

/// The startup timeout.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A PgBouncer process, killed when dropped.
pub struct PgBouncer {
    /// `None` after the process was killed.
    process: Option<Child>,
    port: u16,
    settings: PathBuf,
    /// The directory of the database server's socket.
    socket: PathBuf,
    /// The URL of the database through PgBouncer.
    pub url: String,
    _home: TempDir,
}

impl PgBouncer {
    /// Starts PgBouncer for a database on a Unix socket, with the given pool mode and number of server connections.
    pub fn start(database_url: &str, mode: &str, connections: u32) -> anyhow::Result<Self> {
        let direct = Url::parse(database_url)?;
        let name = direct.path().trim_start_matches('/').to_owned();
        let socket = direct.query_pairs().find(|(key, _)| key == "host");
        let socket = socket.context("the server listens on a Unix socket")?.1;
        let home = tempfile::tempdir()?;
        std::fs::set_permissions(home.path(), PermissionsExt::from_mode(0o711))?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let settings = format!(
            "[databases]\n{name} = host={socket} port=5432 dbname={name} user={user}\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = any\npool_mode = {mode}\ndefault_pool_size = {connections}\nmax_client_conn = 4000\n\
             {prepared}",
            user = direct.username(),
            prepared = if keeps_statements()? {
                "max_prepared_statements = 500\n"
            } else {
                ""
            },
        );
        let file = home.path().join("pgbouncer.ini");
        std::fs::write(&file, settings)?;
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644))?;
        let mut pooler = Self {
            process: None,
            port,
            settings: file,
            socket: PathBuf::from(&*socket),
            url: format!("postgres://{}@127.0.0.1:{port}/{name}", direct.username()),
            _home: home,
        };
        pooler.start_again()?;
        Ok(pooler)
    }

    /// Starts PgBouncer again on the same port and waits until it listens. Returns whether it was stopped before.
    pub fn start_again(&mut self) -> anyhow::Result<bool> {
        if self.process.is_some() {
            return Ok(false);
        }
        let mut command = Command::new("pgbouncer");
        if rustix::process::geteuid().is_root() {
            // PgBouncer refuses to run as root. Only the server's own user and group may enter the socket directory.
            let directory = std::fs::metadata(&self.socket)?;
            let server = std::fs::metadata(self.socket.join(".s.PGSQL.5432"))?;
            command.uid(server.uid()).gid(directory.gid());
        }
        self.process = Some(command.arg("-q").arg(&self.settings).spawn()?);
        let begun_at = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            ensure!(begun_at.elapsed() < TIMEOUT, "PgBouncer did not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(true)
    }

    /// Kills PgBouncer with SIGKILL. Returns whether it was running.
    pub fn kill(&mut self) -> anyhow::Result<bool> {
        let Some(mut process) = self.process.take() else {
            return Ok(false);
        };
        process.kill()?;
        process.wait()?;
        Ok(true)
    }

    /// The value of SKILLET_DATABASE_POOLING for PgBouncer in transaction mode.
    pub fn pooling() -> anyhow::Result<&'static str> {
        Ok(if keeps_statements()? {
            "transaction"
        } else {
            "transaction-unnamed"
        })
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        // The process may have ended by itself.
        let _ = self.kill();
    }
}

/// Whether PgBouncer is installed.
pub(crate) fn is_installed() -> bool {
    let version = Command::new("pgbouncer").arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

/// Whether the installed version supports prepared statements in transaction mode (1.21 and newer).
fn keeps_statements() -> anyhow::Result<bool> {
    let printed = Command::new("pgbouncer").arg("--version").output()?;
    let printed = String::from_utf8(printed.stdout)?;
    let version = printed.split_whitespace().nth(1).unwrap_or_default();
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    let version: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    Ok(version >= (1, 21))
}
