//! Databases of tests, on one server a run.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::OnceCell;

/// The server of this test run; it ends when its standard input does, with us.
struct Server {
    url: String,
    _process: Child,
}

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let mut process = Command::new(super::process::PROGRAM)
        .arg("--postgres")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program under test");
    let mut url = String::new();
    let stdout = process.stdout.take().expect("piped");
    BufReader::new(stdout)
        .read_line(&mut url)
        .expect("the server's URL");
    assert!(url.starts_with("postgres://"), "the tests need PostgreSQL");
    Server {
        url: url.trim().to_owned(),
        _process: process,
    }
});

static TEMPLATE: OnceCell<()> = OnceCell::const_new();
static COUNT: AtomicU32 = AtomicU32::new(0);

const TEMPLATE_NAME: &str = "skillet_template";

/// A new database with our schema; returns its URL.
pub(crate) async fn create() -> String {
    TEMPLATE.get_or_init(make_template).await;
    let name = format!("skillet_{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let mut server = connect().await;
    let create = format!("create database {name} template {TEMPLATE_NAME}");
    sqlx::query(AssertSqlSafe(create))
        .execute(&mut server)
        .await
        .unwrap();
    url_of(&name)
}

async fn make_template() {
    shared::db::create_database(&SERVER.url, TEMPLATE_NAME)
        .await
        .unwrap();
    let pool = shared::db::connect(&url_of(TEMPLATE_NAME), "tests", 1)
        .await
        .unwrap();
    shared::db::migrate(&pool).await.unwrap();
    // A database that someone is connected to cannot be a template.
    pool.close().await;
}

async fn connect() -> PgConnection {
    PgConnection::connect(&SERVER.url).await.unwrap()
}

fn url_of(name: &str) -> String {
    SERVER.url.replacen("/postgres?", &format!("/{name}?"), 1)
}
