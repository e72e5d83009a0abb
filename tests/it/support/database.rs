//! Test databases, on one server for each test run.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex};

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::OnceCell;

/// The database server of this test run. It ends when its standard input is closed, which happens at the end of the
/// tests.
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
/// Databases of tests that have ended. All databases of a test run would fill 8 GB.
static RELEASED: Mutex<Vec<String>> = Mutex::new(Vec::new());

const TEMPLATE_NAME: &str = "skillet_template";

/// Creates a database with the current schema, and returns its URL.
pub(crate) async fn create() -> String {
    TEMPLATE.get_or_init(make_template).await;
    let name = name_of(COUNT.fetch_add(1, Ordering::Relaxed));
    let mut server = connect().await;
    let released = std::mem::take(&mut *RELEASED.lock().unwrap());
    let drop = released
        .into_iter()
        .map(|name| format!("drop database {name} with (force)"));
    let create = format!("create database {name} template {TEMPLATE_NAME}");
    for statement in drop.chain([create]) {
        sqlx::query(AssertSqlSafe(statement))
            .execute(&mut server)
            .await
            .unwrap();
    }
    url_of(&name)
}

/// Allows the next [`create`] to drop the database with this URL, if [`create`] made it.
pub(crate) fn release(url: &str) {
    let is_ours = |number: &u32| url_of(&name_of(*number)) == url;
    if let Some(number) = (0..COUNT.load(Ordering::Relaxed)).find(is_ours) {
        RELEASED.lock().unwrap().push(name_of(number));
    }
}

fn name_of(number: u32) -> String {
    format!("skillet_{number}")
}

async fn make_template() {
    shared::db::create_database(&SERVER.url, TEMPLATE_NAME)
        .await
        .unwrap();
    let pool = shared::db::connect(&url_of(TEMPLATE_NAME), "tests", 1)
        .await
        .unwrap();
    shared::db::migrate(&pool).await.unwrap();
    // A database with an open connection cannot be a template.
    pool.close().await;
}

async fn connect() -> PgConnection {
    PgConnection::connect(&SERVER.url).await.unwrap()
}

fn url_of(name: &str) -> String {
    SERVER.url.replacen("/postgres?", &format!("/{name}?"), 1)
}
