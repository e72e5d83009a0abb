//! WHERE as PostgREST filters.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};

use super::{Unsupported, column, unsupported};

/// A condition as a term of PostgREST's `and=(…)`.
pub(super) fn condition(expression: &Expr) -> Result<String, Unsupported> {
    match expression {
        Expr::Nested(inner) => condition(inner),
        Expr::UnaryOp {
            op: UnaryOperator::Not,
            expr,
        } => Ok(format!("not.and({})", condition(expr)?)),
        Expr::BinaryOp { left, op, right } => binary(left, op, right),
        Expr::IsNull(inner) => is(inner, "null"),
        Expr::IsNotNull(inner) => not(is(inner, "null")?),
        Expr::IsTrue(inner) => is(inner, "true"),
        Expr::IsFalse(inner) => is(inner, "false"),
        Expr::IsNotTrue(inner) => not(is(inner, "true")?),
        Expr::IsNotFalse(inner) => not(is(inner, "false")?),
        Expr::InList {
            expr,
            list,
            negated,
        } => {
            let values: Result<Vec<_>, _> = list.iter().map(value).collect();
            let term = format!("{}.in.({})", column(expr)?, values?.join(","));
            negate(term, *negated)
        }
        Expr::Between {
            expr,
            negated,
            low,
            high,
        } => {
            let name = column(expr)?;
            let (low, high) = (value(low)?, value(high)?);
            negate(format!("and({name}.gte.{low},{name}.lte.{high})"), *negated)
        }
        Expr::Like {
            negated,
            any: false,
            expr,
            pattern,
            escape_char: None,
        } => negate(like(expr, "like", pattern)?, *negated),
        Expr::ILike {
            negated,
            any: false,
            expr,
            pattern,
            escape_char: None,
        } => negate(like(expr, "ilike", pattern)?, *negated),
        Expr::Identifier(_) => is(expression, "true"),
        other => Err(unsupported(&format!("the condition `{other}`"))),
    }
}

fn binary(left: &Expr, op: &BinaryOperator, right: &Expr) -> Result<String, Unsupported> {
    let compare = |operator: &str, swapped: &str| {
        if let Ok(name) = column(left) {
            Ok(format!("{name}.{operator}.{}", value(right)?))
        } else {
            Ok(format!("{}.{swapped}.{}", column(right)?, value(left)?))
        }
    };
    match op {
        BinaryOperator::And => Ok(format!("and({},{})", condition(left)?, condition(right)?)),
        BinaryOperator::Or => Ok(format!("or({},{})", condition(left)?, condition(right)?)),
        BinaryOperator::Eq => compare("eq", "eq"),
        BinaryOperator::NotEq => compare("neq", "neq"),
        BinaryOperator::Lt => compare("lt", "gt"),
        BinaryOperator::LtEq => compare("lte", "gte"),
        BinaryOperator::Gt => compare("gt", "lt"),
        BinaryOperator::GtEq => compare("gte", "lte"),
        other => Err(unsupported(&format!("the operator {other}"))),
    }
}

fn is(expression: &Expr, what: &str) -> Result<String, Unsupported> {
    Ok(format!("{}.is.{what}", column(expression)?))
}

fn not(term: String) -> Result<String, Unsupported> {
    negate(term, true)
}

fn negate(term: String, negated: bool) -> Result<String, Unsupported> {
    Ok(if negated {
        format!("not.and({term})")
    } else {
        term
    })
}

fn like(expression: &Expr, operator: &str, pattern: &Expr) -> Result<String, Unsupported> {
    let Some(text) = text_of(pattern) else {
        return Err(unsupported("a pattern that is no text"));
    };
    if text.contains('*') {
        // It would stand for any characters.
        return Err(unsupported("a pattern with `*` in it"));
    }
    Ok(format!(
        "{}.{operator}.{}",
        column(expression)?,
        quoted(text)
    ))
}

fn text_of(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// A literal.
fn value(expression: &Expr) -> Result<String, Unsupported> {
    if let Some(text) = text_of(expression) {
        return Ok(quoted(text));
    }
    match expression {
        Expr::Nested(inner) => value(inner),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => match &**expr {
            Expr::Value(number) if matches!(number.value, Value::Number(..)) => {
                Ok(format!("-{number}"))
            }
            other => Err(unsupported(&format!("`-{other}`"))),
        },
        Expr::Value(literal) => match &literal.value {
            Value::Number(number, _) => Ok(number.clone()),
            Value::Boolean(truth) => Ok(truth.to_string()),
            Value::Null => Err(unsupported("a comparison with NULL (say IS NULL)")),
            other => Err(unsupported(&format!("the value {other}"))),
        },
        other => Err(unsupported(&format!("`{other}` where a value is expected"))),
    }
}

/// In quotes nothing has a meaning but these two.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', r#"\""#))
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::parser::Parser;

    use super::*;

    fn read(sql: &str) -> Result<String, Unsupported> {
        let mut parser = Parser::new(&PostgreSqlDialect {})
            .try_with_sql(sql)
            .unwrap();
        condition(&parser.parse_expr().unwrap())
    }

    #[test]
    fn conditions_become_terms() {
        for (sql, expected) in [
            ("a = 'x,y).or(b'", r#"a.eq."x,y).or(b""#),
            (r#"a = 'say "hi" \ bye'"#, r#"a.eq."say \"hi\" \\ bye""#),
            ("3 < a", "a.gt.3"),
            ("a >= -1.5", "a.gte.-1.5"),
            ("a in (1, 'b')", r#"a.in.(1,"b")"#),
            ("a not in (1)", "not.and(a.in.(1))"),
            ("a between 1 and 2", "and(a.gte.1,a.lte.2)"),
            ("a like 'x%'", r#"a.like."x%""#),
            ("a not ilike '%y'", r#"not.and(a.ilike."%y")"#),
            (
                "a is not null and b is true",
                "and(not.and(a.is.null),b.is.true)",
            ),
            ("active or not b", "or(active.is.true,not.and(b.is.true))"),
            ("a = true", "a.eq.true"),
        ] {
            assert_eq!(read(sql).as_deref(), Ok(expected), "{sql}");
        }
    }

    #[test]
    fn what_has_no_words_there_is_refused() {
        for sql in [
            "a = b",
            "a = null",
            "lower(a) = 'x'",
            "a like '*'",
            "a like b",
            "a ->> 'x' = 'y'",
            "a = (select 1)",
            "exists (select 1)",
            "a = any(array[1])",
            "1 = 1",
        ] {
            assert!(read(sql).is_err(), "{sql}: {:?}", read(sql));
        }
    }
}
