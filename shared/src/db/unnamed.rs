//! Unnamed statements, for poolers that mix up named ones.

use sqlx::postgres::PgArguments;
use sqlx::{AssertSqlSafe, Execute, PgConnection, Postgres, Row, SqlStr};

/// A query for the types of the schema as columns.
const TYPES: &str = "select coalesce(string_agg(format('null::%s', type.oid::regtype), ', '), '')
                     from pg_type as type
                     left join pg_type as element on element.oid = type.typelem and type.typcategory = 'A'
                     left join pg_class as record on record.oid = coalesce(element.typrelid, type.typrelid)
                     where type.typnamespace = current_schema()::regnamespace
                       and (coalesce(element.typtype, type.typtype) in ('e', 'd') or record.relkind = 'c')";

/// A query whose statement is neither named nor cached.
pub(super) struct Unnamed<E>(pub(super) E);

impl<'q, E: Execute<'q, Postgres>> Execute<'q, Postgres> for Unnamed<E> {
    fn sql(self) -> SqlStr {
        self.0.sql()
    }

    fn statement(&self) -> Option<&sqlx::postgres::PgStatement> {
        self.0.statement()
    }

    fn take_arguments(&mut self) -> Result<Option<PgArguments>, sqlx::error::BoxDynError> {
        self.0.take_arguments()
    }

    fn persistent(&self) -> bool {
        false
    }
}

/// Loads the types of the schema into the connection. Otherwise the connection queries an unknown type between the
/// parts of a statement, which ends an unnamed statement.
pub(super) async fn learn_types(connection: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::raw_sql("begin").execute(&mut *connection).await?;
    let row = sqlx::raw_sql(TYPES).fetch_one(&mut *connection).await?;
    let types = format!("select {}", row.try_get::<String, _>(0)?);
    // This statement fails for the same reason, but its result is not needed.
    let learned = sqlx::query(AssertSqlSafe(types)).persistent(false);
    let _ = learned.execute(&mut *connection).await;
    sqlx::raw_sql("rollback").execute(connection).await?;
    Ok(())
}
