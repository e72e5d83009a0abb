//! A Postgres with a synchronous standby.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tempfile::TempDir;

use super::until;

/// A primary and its standby.
pub(crate) struct Replication {
    primary: Server,
    standby: Server,
    binaries: PathBuf,
    _home: TempDir,
}

/// A server, stopped when dropped.
struct Server {
    process: Child,
    data: PathBuf,
    port: u16,
}

impl Replication {
    /// Starts both, and returns when each commit waits for the standby.
    pub(crate) async fn start() -> Self {
        let binaries = cli::postgres::installed().into_iter().next();
        let binaries = binaries.expect("the tests need PostgreSQL");
        let home = tempfile::tempdir().unwrap();
        std::fs::set_permissions(home.path(), PermissionsExt::from_mode(0o777)).unwrap();
        let (first, second) = (home.path().join("first"), home.path().join("second"));
        run(as_server(&binaries.join("initdb"))
            .args([
                "--username=postgres",
                "--auth=trust",
                "--no-sync",
                "--locale=C",
            ])
            .args(["--encoding=UTF8", "-D"])
            .arg(&first));
        let primary = Server::start(&binaries, first).await;
        let source = format!("host=127.0.0.1 port={} user=postgres", primary.port);
        run(as_server(&binaries.join("pg_basebackup"))
            .args([
                "--no-sync",
                "--checkpoint=fast",
                "-R",
                "-X",
                "stream",
                "-d",
                &source,
                "-D",
            ])
            .arg(&second));
        let standby = Server::start(&binaries, second).await;
        let mut connection = primary.connect().await.unwrap();
        for statement in [
            "alter system set synchronous_standby_names = '*'",
            "select pg_reload_conf()",
        ] {
            sqlx::raw_sql(statement)
                .execute(&mut connection)
                .await
                .unwrap();
        }
        until(async || {
            let states = "select count(*) from pg_stat_replication where sync_state = 'sync'";
            let count = sqlx::query_scalar::<_, i64>(states);
            count.fetch_one(&mut connection).await.unwrap() == 1
        })
        .await;
        Self {
            primary,
            standby,
            binaries,
            _home: home,
        }
    }

    /// Makes a database, and returns its URL, with the hosts of both servers.
    pub(crate) async fn create_database(&self, name: &str) -> String {
        let mut connection = self.primary.connect().await.unwrap();
        let create = sqlx::raw_sql(AssertSqlSafe(format!("create database {name}")));
        create.execute(&mut connection).await.unwrap();
        format!(
            "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/{name}?target_session_attrs=read-write",
            // The one that is asked first is not the one that is found.
            self.standby.port,
            self.primary.port,
        )
    }

    /// Kills the primary in the midst of whatever it does.
    pub(crate) fn kill_primary(&mut self) {
        self.primary.stop();
    }

    /// Makes the standby the primary.
    pub(crate) fn promote(&self) {
        run(as_server(&self.binaries.join("pg_ctl"))
            .args(["promote", "-D"])
            .arg(&self.standby.data));
    }
}

impl Server {
    async fn start(binaries: &Path, data: PathBuf) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = port.local_addr().unwrap().port();
        let process = as_server(&binaries.join("postgres"))
            .arg("-D")
            .arg(&data)
            .args([
                "-c",
                "listen_addresses=127.0.0.1",
                "-c",
                "unix_socket_directories=",
            ])
            .args([
                "-c",
                "fsync=off",
                "-c",
                "full_page_writes=off",
                "-c",
                &format!("port={port}"),
            ])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self {
            process,
            data,
            port,
        };
        until(async || server.connect().await.is_ok()).await;
        server
    }

    async fn connect(&self) -> sqlx::Result<PgConnection> {
        PgConnection::connect(&format!(
            "postgres://postgres@127.0.0.1:{}/postgres",
            self.port
        ))
        .await
    }

    /// An immediate shutdown, which the server's processes obey at once and which writes nothing.
    fn stop(&mut self) {
        let id = Pid::from_child(&self.process);
        let _ = kill_process(id, Signal::QUIT);
        let _ = self.process.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A program of Postgres, which refuses to be run by root.
fn as_server(program: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    if rustix::process::geteuid().is_root() {
        command.uid(number("-u")).gid(number("-g"));
    }
    command
}

fn number(option: &str) -> u32 {
    let printed = Command::new("id")
        .args([option, "postgres"])
        .output()
        .unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    printed.trim().parse().expect("there is a user `postgres`")
}

fn run(command: &mut Command) {
    let output = command.stderr(Stdio::piped()).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
