//! A Postgres server with a synchronous standby.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process};
use sqlx::{Connection, PgConnection};
use tempfile::TempDir;

/// The longest that one step may take on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(20);
/// The database user.
const USER: &str = "skillet";

/// Whether the required Postgres programs are installed.
pub(crate) fn is_installed() -> bool {
    Installation::find().is_ok()
}

/// A primary and a synchronous standby, which has every commit of the primary. Both are killed when this is dropped.
pub struct ReplicatedPostgres {
    primary: Server,
    standby: Server,
    ports: [u16; 2],
    installation: Installation,
    _home: TempDir,
}

/// A way in which the primary is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loss {
    /// The processes of the primary are killed, so connections to it are closed.
    Killed,
    /// The processes of the primary are stopped for good. Connections to it stay open, but nothing answers.
    Silent,
    /// The primary becomes read-only. Connections to it stay open.
    ReadOnly,
    /// The primary keeps running, but the promoted standby and its tool cannot reach it. Its commits wait for the
    /// standby.
    CutOff,
}

impl ReplicatedPostgres {
    /// Starts both servers and waits until the standby is synchronous.
    pub async fn start() -> anyhow::Result<Self> {
        let installation = Installation::find()?;
        let home = tempfile::tempdir()?;
        installation.give(home.path())?;
        let (one, two) = (home.path().join("one"), home.path().join("two"));
        installation.run(
            Command::new(installation.program("initdb"))
                .args(["--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"])
                .args(["--username", USER, "--pgdata"])
                .arg(&one),
        )?;
        let primary = Server::start(&installation, one, free_port()?)?;
        primary.answers().await?;
        let standby = primary.copy(&installation, two, free_port()?).await?;
        let replicated = Self {
            ports: [primary.port, standby.port],
            primary,
            standby,
            installation,
            _home: home,
        };
        replicated.await_standby().await?;
        Ok(replicated)
    }

    /// The URL of a database with the addresses of both servers.
    pub fn url(&self, database: &str) -> String {
        let [one, two] = self.ports;
        format!("postgres://{USER}@127.0.0.1:{one},127.0.0.1:{two}/{database}")
    }

    /// The URL of a database on the primary only.
    pub fn primary_url(&self, database: &str) -> String {
        self.primary.url(database)
    }

    /// Makes the primary fail in the given way.
    pub async fn lose_primary(&self, loss: Loss) -> anyhow::Result<()> {
        match loss {
            Loss::Killed => self.primary.signal_all(Signal::KILL),
            Loss::Silent => self.primary.signal_all(Signal::STOP),
            Loss::ReadOnly => self.primary.set("default_transaction_read_only = on").await,
            Loss::CutOff => Ok(()),
        }
    }

    /// Kills the standby, whether or not it was promoted. Commits on the primary then wait forever.
    pub fn lose_standby(&self) -> anyhow::Result<()> {
        self.standby.signal_all(Signal::KILL)
    }

    /// Promotes the standby and waits until it accepts writes. It has no synchronous standby itself.
    pub fn promote(&self) -> anyhow::Result<()> {
        self.installation.run(
            Command::new(self.installation.program("pg_ctl"))
                .args(["promote", "--wait", "--pgdata"])
                .arg(&self.standby.data),
        )
    }

    /// Makes the promoted standby the primary, and replaces the lost primary with a new standby.
    pub async fn replace_lost(&mut self) -> anyhow::Result<()> {
        std::mem::swap(&mut self.primary, &mut self.standby);
        self.standby.kill();
        fs::remove_dir_all(&self.standby.data)?;
        let (data, port) = (self.standby.data.clone(), self.standby.port);
        self.standby = self.primary.copy(&self.installation, data, port).await?;
        self.await_standby().await
    }

    /// Makes commits on the primary wait for the standby from now on, and waits until the standby is synchronous.
    async fn await_standby(&self) -> anyhow::Result<()> {
        self.primary.set("synchronous_standby_names = '*'").await?;
        let mut primary = PgConnection::connect(&self.primary.url("postgres")).await?;
        let begun_at = Instant::now();
        let count = "select count(*) from pg_stat_replication where sync_state = 'sync'";
        loop {
            let standbys: i64 = sqlx::query_scalar(count).fetch_one(&mut primary).await?;
            if standbys == 1 {
                return Ok(());
            }
            ensure!(begun_at.elapsed() < TIMEOUT, "no standby is synchronous");
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// The Postgres programs and the user that runs them. They refuse to run as root.
struct Installation {
    directory: PathBuf,
    user: Option<u32>,
}

impl Installation {
    fn find() -> anyhow::Result<Self> {
        let explicit = std::env::var_os("SKILLET_PG_BIN").map(PathBuf::from);
        let has_all = |directory: &PathBuf| {
            ["initdb", "pg_basebackup", "pg_ctl", "postgres"]
                .iter()
                .all(|name| directory.join(name).is_file())
        };
        let directory = explicit
            .into_iter()
            .chain(cli::postgres::installed())
            .find(has_all)
            .context("the programs of Postgres are not installed")?;
        let is_root = rustix::process::geteuid().is_root();
        let user = is_root.then(unprivileged_user).transpose()?;
        Ok(Self { directory, user })
    }

    fn program(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn give(&self, path: &Path) -> anyhow::Result<()> {
        Ok(chown(path, self.user, None)?)
    }

    fn prepare<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        if let Some(user) = self.user {
            command.uid(user);
        }
        command
            .current_dir("/")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
    }

    fn run(&self, command: &mut Command) -> anyhow::Result<()> {
        let output = self.prepare(command).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{command:?}: {said}");
        Ok(())
    }
}

fn unprivileged_user() -> anyhow::Result<u32> {
    for name in ["postgres", "nobody"] {
        let id = Command::new("id").args(["-u", name]).output()?;
        if let Ok(user) = String::from_utf8(id.stdout)?.trim().parse() {
            return Ok(user);
        }
    }
    anyhow::bail!("there is no unprivileged user")
}

fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// A Postgres server, killed when dropped.
struct Server {
    process: Option<Child>,
    data: PathBuf,
    port: u16,
}

impl Server {
    fn start(installation: &Installation, data: PathBuf, port: u16) -> anyhow::Result<Self> {
        let settings = [
            "listen_addresses=127.0.0.1".to_owned(),
            format!("port={port}"),
            "unix_socket_directories=".to_owned(),
            "max_connections=200".to_owned(),
            // Tests kill processes, not the machine, so no fsync is needed.
            "fsync=off".to_owned(),
            "jit=off".to_owned(),
            // Keep shared memory in the data directory, which is removed. Killed processes do not clean up.
            "dynamic_shared_memory_type=mmap".to_owned(),
        ];
        let mut command = Command::new(installation.program("postgres"));
        for setting in settings {
            command.args(["-c", &setting]);
        }
        let log = fs::File::create(data.with_extension("log"))?;
        let process = installation
            .prepare(command.arg("-D").arg(&data).stderr(log))
            .spawn()?;
        Ok(Self {
            process: Some(process),
            data,
            port,
        })
    }

    /// Starts a standby of this server. After a promotion it has no synchronous standby.
    async fn copy(
        &self,
        installation: &Installation,
        data: PathBuf,
        port: u16,
    ) -> anyhow::Result<Self> {
        let source = format!("host=127.0.0.1 port={} user={USER}", self.port);
        installation.run(
            Command::new(installation.program("pg_basebackup"))
                .args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync"])
                .args(["--dbname", &source, "--pgdata"])
                .arg(&data),
        )?;
        let settings = data.join("postgresql.auto.conf");
        let mut settings = fs::OpenOptions::new().append(true).open(settings)?;
        writeln!(settings, "synchronous_standby_names = ''")?;
        let standby = Self::start(installation, data, port)?;
        standby.answers().await?;
        Ok(standby)
    }

    fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}", self.port)
    }

    async fn answers(&self) -> anyhow::Result<()> {
        let begun_at = Instant::now();
        loop {
            match PgConnection::connect(&self.url("postgres")).await {
                Ok(connection) => return Ok(connection.close().await?),
                Err(error) => ensure!(begun_at.elapsed() < TIMEOUT, "{error}"),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Changes a setting of the server and reloads its configuration.
    async fn set(&self, setting: &str) -> anyhow::Result<()> {
        let mut connection = PgConnection::connect(&self.url("postgres")).await?;
        let change = format!("alter system set {setting}");
        for statement in [change.as_str(), "select pg_reload_conf()"] {
            let statement = sqlx::AssertSqlSafe(statement.to_owned());
            sqlx::raw_sql(statement).execute(&mut connection).await?;
        }
        Ok(connection.close().await?)
    }

    fn kill(&mut self) {
        let _ = self.signal_all(Signal::KILL);
        let Some(mut process) = self.process.take() else {
            return;
        };
        let _ = process.wait();
        self.remove_shared_memory();
    }

    /// Removes the System V segment of a killed server. The system allows at most 4,096 segments.
    fn remove_shared_memory(&self) {
        let state = fs::read_to_string(self.data.join("postmaster.pid")).unwrap_or_default();
        // The seventh line contains the key and the id of the segment.
        let line = state.lines().nth(6).unwrap_or_default();
        if let Some(id) = line.split_whitespace().nth(1) {
            let _ = Command::new("ipcrm").args(["-m", id]).output();
        }
    }

    /// Sends a signal to the server first, so that it starts no more children, and then to its children.
    fn signal_all(&self, signal: Signal) -> anyhow::Result<()> {
        let Some(process) = &self.process else {
            return Ok(());
        };
        let server = Pid::from_child(process);
        let children = children(server)?;
        kill_process(server, signal)?;
        for child in children {
            // The child may have ended.
            let _ = kill_process(child, signal);
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn children(parent: Pid) -> anyhow::Result<Vec<Pid>> {
    let path = format!("/proc/{0}/task/{0}/children", parent.as_raw_pid());
    let listed = fs::read_to_string(path)?;
    let numbers = listed.split_whitespace().map(str::parse);
    let numbers: Result<Vec<_>, _> = numbers.collect();
    Ok(numbers?.into_iter().filter_map(Pid::from_raw).collect())
}
