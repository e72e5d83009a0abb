//! `sql_query` with SQLite files.

use serde_json::{Value, json};

use super::{ToolCallResult, ToolSetup};
use crate::support::has_program;

const MAKE: &str = "sqlite3 memory.db \"create table t (n int, name text, b blob); \
                    insert into t values (1, 'it''s', x'00'), (2, null, null)\"; \
                    sqlite3 'an other.db' 'create table o (x); insert into o values (7)'";

fn query(sql: &str) -> (&'static str, Value) {
    ("sql_query", json!({ "sql": sql }))
}

/// Runs queries in a job with these parameters whose workspace has two databases, and returns their results.
async fn ask(
    setup: &ToolSetup,
    parameters: Value,
    queries: &[(&'static str, Value)],
) -> Vec<ToolCallResult> {
    let make = [("shell.exec", json!({ "command": MAKE }))];
    let calls = [&make, queries].concat();
    let mut ran = setup.run_with("sqlite", &calls, parameters).await;
    ran.remove(0);
    ran
}

fn rows(ran: &ToolCallResult) -> Value {
    assert_eq!(ran.outcome, "ok", "{ran:?}");
    serde_json::from_str::<Value>(&ran.output).unwrap()["rows"].clone()
}

#[tokio::test]
async fn rows_come_as_json_with_their_types() {
    if !has_program("sqlite3") {
        return;
    }
    let setup = ToolSetup::start().await;
    let other = json!({"sql": "select x from o", "path": "an other.db"});
    let ran = ask(
        &setup,
        json!({}),
        &[
            query("select n, name, hex(b) as b from t order by n"),
            query("select n from t where n > 9"),
            query("select 1 as a; select 2 as b;"),
            ("sql_query", other),
            query("select n, 'quoted ''$(id)`' as q from t limit 1"),
        ],
    )
    .await;
    assert_eq!(
        rows(&ran[0]),
        json!([{"n": 1, "name": "it's", "b": "00"}, {"n": 2, "name": null, "b": ""}])
    );
    assert_eq!(rows(&ran[1]), json!([]));
    assert_eq!(rows(&ran[2]), json!([{"b": 2}]));
    assert_eq!(rows(&ran[3]), json!([{"x": 7}]));
    assert_eq!(rows(&ran[4]), json!([{"n": 1, "q": "quoted '$(id)`"}]));
}

#[tokio::test]
async fn nothing_changes_unless_the_job_allows_it() {
    if !has_program("sqlite3") {
        return;
    }
    let setup = ToolSetup::start().await;
    let insert = query("insert into t (n) values (3)");
    let count = query("select count(*) as c from t");
    let queries = [
        insert.clone(),
        query("pragma writable_schema = on; delete from sqlite_schema"),
        query("drop table t"),
        count.clone(),
    ];
    let ran = ask(&setup, json!({}), &queries).await;
    assert!(
        ran[0]
            .output
            .contains("attempt to write a readonly database"),
        "{ran:#?}"
    );
    assert_eq!(rows(&ran[3]), json!([{"c": 2}]), "{ran:#?}");

    let ran = ask(&setup, json!({"allow_mutation": true}), &[insert, count]).await;
    assert_eq!(rows(&ran[1]), json!([{"c": 3}]), "{ran:#?}");
}

#[tokio::test]
async fn what_leads_out_of_the_database_is_refused_even_where_changes_are_allowed() {
    if !has_program("sqlite3") {
        return;
    }
    let setup = ToolSetup::start().await;
    let refused = [
        (
            "attach 'an other.db' as o",
            "cannot run ATTACH in safe mode",
        ),
        (
            "select load_extension('x')",
            "cannot use the load_extension() function",
        ),
        (
            "select writefile('made', 'x')",
            "cannot use the writefile() function",
        ),
        (
            "select readfile('/etc/passwd')",
            "cannot use the readfile() function",
        ),
        ("vacuum into 'made'", "cannot run ATTACH in safe mode"),
        (".shell touch made", "dot-commands are not SQL"),
        ("select 1;\n.shell touch made", "syntax error"),
        ("select '", "unrecognized token"),
    ];
    let mut queries: Vec<_> = refused.iter().map(|(sql, _)| query(sql)).collect();
    let other = |path: &str| ("sql_query", json!({"sql": "select 1", "path": path}));
    queries.extend([
        other("none.db"),
        other("../../etc/passwd"),
        other("-version"),
    ]);
    queries.push(("shell.exec", json!({"command": "ls"})));
    for parameters in [json!({}), json!({"allow_mutation": true})] {
        let ran = ask(&setup, parameters.clone(), &queries).await;
        for ((sql, why), ran) in refused.iter().zip(&ran) {
            assert_eq!(ran.outcome, "error", "{sql}: {ran:?}");
            assert!(ran.output.contains(why), "{sql}: {ran:?}");
        }
        assert!(!ran.last().unwrap().output.contains("made"), "{ran:#?}");
        if parameters == json!({}) {
            assert!(
                ran[8].output.contains("`none.db` cannot be queried"),
                "{ran:#?}"
            );
            assert!(ran[9].output.contains("cannot be queried"), "{ran:#?}");
        }
    }
}

#[tokio::test]
async fn of_many_rows_the_first_are_shown_and_all_are_in_a_file() {
    if !has_program("sqlite3") {
        return;
    }
    let setup = ToolSetup::start().await;
    let many = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 9000) \
                select i, 'abcdefghijklmnopqrstuvwxyz' as text from n";
    let read = "python3 -c 'import json; print(len(json.load(open(\".skillet/2-rows.json\"))))'";
    let queries = [query(many), ("shell.exec", json!({"command": read}))];
    let ran = ask(&setup, json!({}), &queries).await;
    assert!(ran[0].truncated && ran[0].output.len() <= 200_500);
    let shown: Value = serde_json::from_str(&ran[0].output).unwrap();
    assert_eq!(shown["row_count"], 9000);
    let note = shown["note"].as_str().unwrap();
    assert!(
        note.contains("rows are shown; all of them are in the workspace file .skillet/2-rows.json"),
        "{note}"
    );
    assert!(ran[1].output.contains("9000"), "{ran:?}");
}
