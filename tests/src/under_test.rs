//! The `skillet` command under test. With `--postgres` it is the database server of a test run instead.

use std::io::{Read, Write};
use std::process::ExitCode;

use cli::postgres::{Postgres, PostgresSettings};

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("--postgres") {
        serve_postgres();
        return ExitCode::SUCCESS;
    }
    cli::main()
}

/// Prints the URL of the database `postgres` and serves until standard input is closed, that is, until the test run
/// exits for any reason.
fn serve_postgres() {
    let home = tempfile::Builder::new()
        .prefix("skillet-tests-")
        .tempdir()
        .expect("a temporary directory");
    // The server may run as another user, who needs access to the directories in this one.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o711);
    std::fs::set_permissions(home.path(), open).expect("our own directory");
    let progress = |line: &str| eprintln!("{line}");
    let settings = PostgresSettings {
        durable: false,
        ..PostgresSettings::default()
    };
    let postgres = Postgres::start(
        &home.path().join("postgres"),
        &std::env::temp_dir(),
        settings,
        &progress,
    );
    let postgres = postgres.expect("the tests need PostgreSQL");
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{}", postgres.url("postgres")).expect("the test run reads this");
    drop(std::io::stdin().read_to_end(&mut Vec::new()));
    drop(postgres);
}
