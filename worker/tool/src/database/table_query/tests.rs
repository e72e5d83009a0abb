//! Tests of the query for a table.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn parameters(arguments: Value) -> Result<String, Problem> {
    let query: TableQuery = serde_json::from_value(arguments).unwrap();
    let pairs = query.parameters()?.into_iter();
    let pairs: Vec<_> = pairs
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    Ok(pairs.join("&"))
}

fn filter(operator: &str, value: Value) -> Result<String, Problem> {
    let filter = json!({"column": "a", "operator": operator, "value": value});
    let query = parameters(json!({"table": "t", "filters": [filter]}))?;
    Ok(query["select=*&and=(".len()..query.len() - ")&limit=1000".len()].to_owned())
}

#[test]
fn arguments_become_the_query_that_means_the_same() {
    for (arguments, expected) in [
        (json!({"table": "t"}), "select=*&limit=1000"),
        (
            json!({"table": "t", "select": ["*"], "limit": 3}),
            "select=*&limit=3",
        ),
        (
            json!({"table": "t", "select": ["id", "Sum €", "a.b", "limit"], "limit": 5, "offset": 10}),
            r#"select=id,"Sum €","a.b",limit&limit=5&offset=10"#,
        ),
        (
            json!({"table": "t", "order": [{"column": "total", "descending": true, "nulls": "last"}, {"column": "id"}]}),
            "select=*&order=total.desc.nullslast,id.asc&limit=1000",
        ),
        (
            json!({"table": "t", "filters": [
                {"column": "select", "operator": "gte", "value": -1.5},
                {"column": "b", "operator": "in", "value": ["x,y", 2], "not": true},
            ]}),
            r#"select=*&and=(select.gte."-1.5",b.not.in.("x,y","2"))&limit=1000"#,
        ),
        (
            json!({"table": "t", "count": true, "order": [{"column": "id"}], "limit": 7, "offset": 3}),
            "limit=1",
        ),
    ] {
        assert_eq!(
            parameters(arguments.clone()).as_deref(),
            Ok(expected),
            "{arguments}"
        );
    }
}

#[test]
fn every_operator_has_its_values() {
    for (operator, value, expected) in [
        ("eq", json!("x,y).or(b"), r#"a.eq."x,y).or(b""#),
        (
            "neq",
            json!(r#"say "hi" \ bye"#),
            r#"a.neq."say \"hi\" \\ bye""#,
        ),
        (
            "lt",
            json!(12_345_678_901_234_567_890_u64),
            r#"a.lt."12345678901234567890""#,
        ),
        ("lte", json!(true), r#"a.lte."true""#),
        ("gt", json!(""), r#"a.gt."""#),
        ("like", json!("x%"), r#"a.like."x%""#),
        ("ilike", json!("_y"), r#"a.ilike."_y""#),
        ("in", json!([1, "b"]), r#"a.in.("1","b")"#),
        ("is", json!(null), "a.is.null"),
        ("is", json!(false), "a.is.false"),
    ] {
        assert_eq!(
            filter(operator, value).as_deref(),
            Ok(expected),
            "{operator}"
        );
    }
}

#[test]
fn a_problem_has_its_place_and_its_remedy() {
    for (operator, value, remedy) in [
        ("eq", json!(null), "use the operator `is`"),
        ("eq", json!([1]), "needs the operator `in`"),
        ("in", json!([]), "a list of 1 to 100 values"),
        ("in", json!("x"), "a list of 1 to 100 values"),
        ("in", json!([1, null]), "use the operator `is`"),
        (
            "in",
            json!(vec![1; MAX_TERMS + 1]),
            "a list of 1 to 100 values",
        ),
        ("is", json!("x"), "use `eq` for other values"),
        ("like", json!("a*"), "use `%` or `_`"),
        ("ilike", json!(1), "use `eq` for other values"),
    ] {
        let problem = filter(operator, value).unwrap_err();
        assert!(problem.starts_with("/filters/0/value: "), "{problem}");
        assert!(problem.contains(remedy), "{problem}");
    }
    for (arguments, place) in [
        (
            json!({"table": "t", "select": ["a", "b\"c"]}),
            "/select/1: ",
        ),
        (json!({"table": "t", "select": ["a", ""]}), "/select/1: "),
        (
            json!({"table": "t", "order": [{"column": "a\\"}]}),
            "/order/0/column: ",
        ),
        (json!({"table": "t", "limit": 0}), "/limit: "),
        (json!({"table": "t", "limit": 1001}), "/limit: "),
    ] {
        let problem = parameters(arguments).unwrap_err();
        assert!(problem.starts_with(place), "{problem}");
    }
}

/// Parses a quoted text as PostgREST does. Returns the text, and the rest after it.
fn unquoted(quoted: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut chars = quoted.strip_prefix('"')?.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((text, &quoted[at + 2..])),
            '\\' => text.push(chars.next()?.1),
            char => text.push(char),
        }
    }
    None
}

proptest! {
    #[test]
    fn no_value_and_no_column_leaves_its_quotes(value in any::<String>(), name in any::<String>()) {
        let quoted = scalar(&json!(value)).unwrap();
        prop_assert_eq!(unquoted(&quoted), Some((value, "")));
        if let Ok(column) = column(&name, "") {
            let is_bare = column == name && !name.contains(['.', ',', '(', ')', ':', '"', ' ', '*', '-', '>']);
            prop_assert!(is_bare || unquoted(&column) == Some((name, "")), "{}", column);
        }
    }
}
