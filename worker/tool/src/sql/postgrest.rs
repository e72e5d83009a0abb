//! A SELECT as a request to PostgREST, which is what Supabase answers with: its query language has no joins and no
//! expressions, and nothing that writes. Source:
//! <https://docs.postgrest.org/en/stable/references/api/tables_views.html>.

mod filter;

use sqlparser::ast::{
    Expr, Ident, LimitClause, ObjectName, OrderByExpr, OrderByKind, OrderBySort, Query, Select,
    SelectItem, SetExpr, Statement, TableFactor, Value,
};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;

/// What is not said with SQL that is understood here. The words are for the model.
pub(super) type Unsupported = String;

/// A request that reads rows, or counts them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The schema, if one is named.
    pub(super) schema: Option<String>,
    pub(super) table: String,
    /// Name and value of what goes into the query of the URL, not escaped yet.
    pub(super) query: Vec<(&'static str, String)>,
    /// Whether only the number of rows is wanted.
    pub(super) counts: bool,
}

const ABOUT: &str = "One SELECT from one table is understood: columns with casts and aliases or count(*), WHERE with \
                     comparisons, LIKE, ILIKE, IN, BETWEEN, IS NULL, AND, OR and NOT, ORDER BY columns, LIMIT and \
                     OFFSET. Join and aggregate yourself what several queries give.";

impl Request {
    /// Reads SQL.
    pub(super) fn parse(sql: &str) -> Result<Self, Unsupported> {
        let statements = Parser::parse_sql(&PostgreSqlDialect {}, sql)
            .map_err(|error| format!("the SQL cannot be read: {error}"))?;
        let [Statement::Query(query)] = &statements[..] else {
            return Err(format!(
                "only a SELECT is allowed, and one at a time. {ABOUT}"
            ));
        };
        let select = only_select(query)?;
        let (schema, table) = table_of(select)?;
        let counts = is_count(&select.projection);
        let mut request = Self {
            schema,
            table,
            query: Vec::new(),
            counts,
        };
        let mut add = |name, value| request.query.push((name, value));
        if !counts {
            add("select", columns(&select.projection)?);
        }
        if let Some(condition) = &select.selection {
            add("and", format!("({})", filter::condition(condition)?));
        }
        if let Some(order) = &query.order_by {
            let OrderByKind::Expressions(terms) = &order.kind else {
                return Err(unsupported("ORDER BY ALL"));
            };
            let terms: Result<Vec<_>, _> = terms.iter().map(order_term).collect();
            add("order", terms?.join(","));
        }
        if let Some(limit) = &query.limit_clause {
            let LimitClause::LimitOffset {
                limit,
                offset,
                limit_by: _,
            } = limit
            else {
                return Err(unsupported("LIMIT with a comma"));
            };
            if let Some(limit) = limit {
                add("limit", whole_number(limit)?);
            }
            if let Some(offset) = offset {
                add("offset", whole_number(&offset.value)?);
            }
        }
        Ok(request)
    }
}

/// The SELECT of a query, if there is nothing in either but what is looked at here: whatever else was said would
/// be lost without a word.
fn only_select(query: &Query) -> Result<&Select, Unsupported> {
    let SetExpr::Select(select) = &*query.body else {
        return Err(unsupported("UNION, VALUES or a subquery"));
    };
    let plain = Parser::parse_sql(&PostgreSqlDialect {}, "select x from x");
    let Ok([Statement::Query(plain)]) = plain.as_deref() else {
        return Err(unsupported("this"));
    };
    let mut plain = plain.clone();
    if let SetExpr::Select(plain) = &mut *plain.body {
        plain.projection.clone_from(&select.projection);
        plain.selection.clone_from(&select.selection);
        if let (Some(plain), Some(from)) = (plain.from.first_mut(), select.from.first())
            && let TableFactor::Table { name, .. } = &mut plain.relation
            && let TableFactor::Table { name: named, .. } = &from.relation
        {
            name.clone_from(named);
        }
    }
    plain.order_by.clone_from(&query.order_by);
    plain.limit_clause.clone_from(&query.limit_clause);
    if *plain == *query {
        Ok(select)
    } else {
        Err(unsupported("a part of this query"))
    }
}

fn table_of(select: &Select) -> Result<(Option<String>, String), Unsupported> {
    let Some(TableFactor::Table { name, .. }) = select.from.first().map(|from| &from.relation)
    else {
        return Err(unsupported("a query without a table"));
    };
    match &parts(name)?[..] {
        [table] => Ok((None, table.clone())),
        [schema, table] => Ok((Some(schema.clone()), table.clone())),
        _ => Err(unsupported("a table of another database")),
    }
}

fn parts(name: &ObjectName) -> Result<Vec<String>, Unsupported> {
    let part = |part: &sqlparser::ast::ObjectNamePart| {
        let ident = part.as_ident().map(plain);
        ident.ok_or_else(|| unsupported("this name of a table"))
    };
    name.0.iter().map(part).collect()
}

/// What Postgres takes the name for: in lower case unless it was quoted.
fn plain(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}

/// The name of a column where PostgREST expects one.
fn column(expression: &Expr) -> Result<String, Unsupported> {
    let Expr::Identifier(ident) = expression else {
        return Err(unsupported(&format!(
            "`{expression}` where a column is expected"
        )));
    };
    let name = plain(ident);
    let is_plain = |char: char| char.is_alphanumeric() || char == '_';
    match name {
        name if name.contains(['"', '\\']) => Err(unsupported("this name of a column")),
        name if !name.is_empty() && name.chars().all(is_plain) => Ok(name),
        name => Ok(format!("\"{name}\"")),
    }
}

fn columns(items: &[SelectItem]) -> Result<String, Unsupported> {
    let term = |expression: &Expr| match expression {
        Expr::Cast {
            expr, data_type, ..
        } => Ok(format!(
            "{}::{}",
            column(expr)?,
            data_type.to_string().to_lowercase()
        )),
        other => column(other),
    };
    let item = |item: &SelectItem| match item {
        SelectItem::Wildcard(options) if options.to_string().is_empty() => Ok("*".to_owned()),
        SelectItem::UnnamedExpr(expression) => term(expression),
        SelectItem::ExprWithAlias { expr, alias } => {
            let alias = column(&Expr::Identifier(alias.clone()))?;
            Ok(format!("{alias}:{}", term(expr)?))
        }
        other => Err(unsupported(&format!("`{other}` among the columns"))),
    };
    let items: Result<Vec<_>, _> = items.iter().map(item).collect();
    Ok(items?.join(","))
}

fn is_count(items: &[SelectItem]) -> bool {
    let [
        SelectItem::UnnamedExpr(expression)
        | SelectItem::ExprWithAlias {
            expr: expression, ..
        },
    ] = items
    else {
        return false;
    };
    expression.to_string().eq_ignore_ascii_case("count(*)")
}

fn order_term(term: &OrderByExpr) -> Result<String, Unsupported> {
    let mut said = column(&term.expr)?;
    match term.options.sort {
        None | Some(OrderBySort::Asc) => said.push_str(".asc"),
        Some(OrderBySort::Desc) => said.push_str(".desc"),
        Some(_) => return Err(unsupported("ORDER BY … USING")),
    }
    match term.options.nulls_first {
        None => {}
        Some(true) => said.push_str(".nullsfirst"),
        Some(false) => said.push_str(".nullslast"),
    }
    Ok(said)
}

fn whole_number(expression: &Expr) -> Result<String, Unsupported> {
    match expression {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) if number.parse::<u64>().is_ok() => Ok(number.clone()),
            _ => Err(unsupported("a LIMIT or OFFSET that is no whole number")),
        },
        _ => Err(unsupported("a LIMIT or OFFSET that is no whole number")),
    }
}

fn unsupported(what: &str) -> Unsupported {
    format!("{what} is not understood. {ABOUT}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(sql: &str) -> String {
        let request = Request::parse(sql).unwrap();
        let pairs = request.query.iter();
        let pairs: Vec<_> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        format!("{}?{}", request.table, pairs.join("&"))
    }

    #[test]
    fn a_select_becomes_the_request_that_means_the_same() {
        for (sql, expected) in [
            ("select * from Orders", "orders?select=*"),
            (
                r#"SELECT id, total::text AS "Sum €", "Big" FROM orders LIMIT 5 OFFSET 10;"#,
                r#"orders?select=id,"Sum €":total::text,Big&limit=5&offset=10"#,
            ),
            (
                "select id from orders order by total desc nulls last, id",
                "orders?select=id&order=total.desc.nullslast,id.asc",
            ),
            (
                "select * from t where a = 1 and (b <> 'x' or not c is null)",
                r#"t?select=*&and=(and(a.eq.1,or(b.neq."x",not.and(c.is.null))))"#,
            ),
        ] {
            assert_eq!(query(sql), expected, "{sql}");
        }
        let request = Request::parse("select count(*) as n from shop.orders where a > 2").unwrap();
        assert!(request.counts && request.schema.as_deref() == Some("shop"));
        assert_eq!(request.query, [("and", "(a.gt.2)".to_owned())]);
    }

    #[test]
    fn nothing_but_one_plain_select_is_understood() {
        for sql in [
            "insert into t values (1)",
            "update t set a = 1",
            "delete from t",
            "drop table t",
            "select 1; delete from t",
            "with x as (delete from t returning *) select * from x",
            "select * into u from t",
            "select * from t for update",
            "select * from t join u on t.id = u.id",
            "select * from t, u",
            "select * from f(1)",
            "select * from (select * from t) as s",
            "select * from t union select * from u",
            "select distinct a from t",
            "select a, sum(b) from t group by a",
            "select a from t having a > 1",
            "select a + 1 from t",
            "select pg_sleep(100) from t",
            "select * from t limit a",
            "select * from t fetch first 3 rows only",
            "select * from t tablesample system (1)",
            "select",
            "",
        ] {
            let refused = Request::parse(sql);
            assert!(refused.is_err(), "{sql}: {refused:?}");
        }
        let deep = format!(
            "select * from t where {}a = 1{}",
            "(".repeat(5000),
            ")".repeat(5000)
        );
        assert!(Request::parse(&deep).is_err());
    }
}
