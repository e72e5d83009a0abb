//! The schema that the migrations create.

use std::process::Command;

use sqlx::{Connection as _, PgConnection};

use crate::support::create_database;

const EXPECTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../migrations/schema.sql");

#[tokio::test]
async fn the_dumped_schema_is_that_of_the_migrations() {
    let schema = normalize(&dump(&create_database().await).await);
    if std::env::var("SKILLET_UPDATE").is_ok_and(|value| value == "1") {
        std::fs::write(EXPECTED, &schema).unwrap();
    }
    let expected = std::fs::read_to_string(EXPECTED).unwrap_or_default();
    let difference = schema
        .lines()
        .zip(expected.lines())
        .find(|(is, was)| is != was);
    assert!(
        schema == expected,
        "migrations/schema.sql is not the schema that the migrations create; the first difference: {difference:?}. \
         To update it: SKILLET_UPDATE=1 cargo test -p tests --test it schema::"
    );
}

/// Returns the output of the server's `pg_dump`, without the tables of migrations and of single weeks or days.
async fn dump(url: &str) -> String {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let folder = "select setting from pg_config where name = 'BINDIR'";
    let folder: String = sqlx::query_scalar(folder)
        .fetch_one(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
    let dump = Command::new(format!("{folder}/pg_dump"))
        .args(["--schema-only", "--no-owner", "--no-privileges"])
        .args(["--exclude-table=_sqlx_migrations"])
        .args(["--exclude-table=job_event_[0-9]*"])
        .args(["--exclude-table=feed_[0-9]*"])
        .args(["--exclude-table=job_delta_[0-9]*"])
        .arg(url)
        .output()
        .expect("pg_dump, which comes with the server");
    let errors = String::from_utf8_lossy(&dump.stderr);
    assert!(dump.status.success(), "pg_dump failed: {errors}");
    String::from_utf8(dump.stdout).unwrap()
}

/// Removes the parts that depend on the version of PostgreSQL or have no meaning.
fn normalize(dump: &str) -> String {
    let is_noise = |line: &&str| {
        ["--", "SET ", "SELECT pg_catalog.", "\\"]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let mut schema = String::new();
    for line in dump.lines().filter(|line| !is_noise(line)) {
        // At most one empty line, and none at the beginning.
        if line.is_empty() && (schema.is_empty() || schema.ends_with("\n\n")) {
            continue;
        }
        let mut line = line.replace("public.", "");
        // Version 16 leaves out the name of the only table of a query.
        line = line.replace("weeks.", "").replace("days.", "");
        // Version 18 writes the names of inherited constraints.
        if let Some((column, constraint)) = line.split_once(" CONSTRAINT ")
            && let Some((_, rest)) = constraint.split_once("_not_null NOT NULL")
        {
            line = format!("{column} NOT NULL{rest}");
        }
        schema.push_str(&line);
        schema.push('\n');
    }
    schema.trim_end().to_owned() + "\n"
}
