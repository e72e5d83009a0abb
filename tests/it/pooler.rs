//! A connection pooler between the service and its database.

use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output};

use reqwest::Url;
use tempfile::TempDir;

use crate::support::{PROGRAM, Process, Service, has_program, process, until};

/// A PgBouncer in front of a service's database, stopped when dropped.
struct PgBouncer {
    process: Child,
    url: String,
    _home: TempDir,
}

impl PgBouncer {
    async fn start(service: &Service, mode: &str) -> Self {
        let direct = Url::parse(&service.database_url).unwrap();
        let name = direct.path().trim_start_matches('/').to_owned();
        let socket = direct.query_pairs().find(|(key, _)| key == "host").unwrap();
        let socket = socket.1.into_owned();
        let home = tempfile::tempdir().unwrap();
        std::fs::set_permissions(home.path(), PermissionsExt::from_mode(0o711)).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = port.local_addr().unwrap().port();
        let settings = format!(
            "[databases]\n{name} = host={socket} port=5432 dbname={name} user={user}\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = any\npool_mode = {mode}\ndefault_pool_size = 40\n",
            user = direct.username(),
        );
        let file = home.path().join("pgbouncer.ini");
        std::fs::write(&file, settings).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        let mut command = Command::new("pgbouncer");
        if rustix::process::geteuid().is_root() {
            // It refuses to be root. Only the server's own user and group may enter its directory.
            let directory = std::fs::metadata(Path::new(&socket)).unwrap();
            let server = std::fs::metadata(Path::new(&socket).join(".s.PGSQL.5432")).unwrap();
            command.uid(server.uid()).gid(directory.gid());
        }
        let process = command.arg("-q").arg(&file).spawn().unwrap();
        until(async || {
            tokio::net::TcpStream::connect(("127.0.0.1", port))
                .await
                .is_ok()
        })
        .await;
        let url = format!("postgres://{}@127.0.0.1:{port}/{name}", direct.username());
        Self {
            process,
            url,
            _home: home,
        }
    }

    /// Runs the program to its end, with this in place of its database.
    fn run(&self, service: &Service, arguments: &[&str]) -> Output {
        let home = service.home.path().join("pooled");
        Command::new(PROGRAM)
            .args(arguments)
            .env("DATABASE_URL", &self.url)
            .env("SKILLET_DATA_DIR", home)
            .output()
            .unwrap()
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn transaction_mode_is_refused_with_the_remedy() {
    if !has_program("pgbouncer") {
        return;
    }
    let service = Service::without_worker().await;
    let pooler = PgBouncer::start(&service, "transaction").await;
    for arguments in [
        &["migrate"][..],
        &["keys", "create"],
        &["api", "--listen", "127.0.0.1:0"],
        &["worker"],
        &["up", "--listen", "127.0.0.1:0"],
    ] {
        let output = pooler.run(&service, arguments);
        let (stdout, stderr) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {stderr}");
        assert!(
            stderr.contains("transaction mode") && stderr.contains("pool_mode = session"),
            "{arguments:?}: {stderr}"
        );
        assert_eq!(stdout, "", "{arguments:?}");
    }
}

#[tokio::test]
async fn in_session_mode_jobs_run() {
    if !has_program("pgbouncer") {
        return;
    }
    let mut service = Service::without_worker().await;
    let pooler = PgBouncer::start(&service, "session").await;
    let migrated = pooler.run(&service, &["migrate"]);
    assert!(migrated.status.success(), "{migrated:?}");
    service.add_worker(&[("DATABASE_URL", &pooler.url)]).await;
    let ended = service
        .finished(&service.create_shell("echo hello").await)
        .await;
    assert_eq!(ended["status"], "completed", "{}", service.logs());
}

#[tokio::test]
async fn a_parameter_that_the_pooler_refuses_is_named_with_the_remedy() {
    if !has_program("pgbouncer") {
        return;
    }
    let service = Service::without_worker().await;
    let mut pooler = PgBouncer::start(&service, "session").await;
    pooler.url += "?options[jit]=off";
    let output = pooler.run(&service, &["migrate"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("ignore_startup_parameters = options"),
        "{stderr}"
    );
}

#[tokio::test]
async fn an_api_says_that_it_listens_when_it_has_reached_the_database() {
    let service = Service::without_worker().await;
    let environment = [
        (
            "DATABASE_URL",
            "postgres://nobody@127.0.0.1:1/nothing".to_owned(),
        ),
        (
            "SKILLET_DATA_DIR",
            service.home.path().join("alone").display().to_string(),
        ),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value));
    let log = service.home.path().join("alone.log");
    let mut api: Process = process::start(&["api", "--listen", "127.0.0.1:0"], &environment, &log);
    assert_eq!(api.first_line(), "", "it says nothing");
    assert!(!api.wait());
    let said = std::fs::read_to_string(log).unwrap();
    assert!(said.contains("cannot reach the database"), "{said}");
}
