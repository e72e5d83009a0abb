//! Statements without a name, for poolers that mix up named ones.

use sqlx::postgres::PgArguments;
use sqlx::{AssertSqlSafe, Execute, PgConnection, Postgres, Row, SqlStr};

/// The types of the schema, each as a column.
const TYPES: &str = "select coalesce(string_agg(format('null::%s', type.oid::regtype), ', '), '')
                     from pg_type as type
                     left join pg_type as element on element.oid = type.typelem and type.typcategory = 'A'
                     left join pg_class as record on record.oid = coalesce(element.typrelid, type.typrelid)
                     where type.typnamespace = current_schema()::regnamespace
                       and (coalesce(element.typtype, type.typtype) in ('e', 'd') or record.relkind = 'c')";

/// A query whose statement is neither named nor kept.
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

/// Makes the connection know the types of the schema. It asks for a type that it does not know between the parts of a
/// statement, which ends a statement without a name.
pub(super) async fn learn_types(connection: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::raw_sql("begin").execute(&mut *connection).await?;
    let row = sqlx::raw_sql(TYPES).fetch_one(&mut *connection).await?;
    let types = format!("select {}", row.try_get::<String, _>(0)?);
    // It fails for the same reason, and is not needed.
    let learned = sqlx::query(AssertSqlSafe(types)).persistent(false);
    let _ = learned.execute(&mut *connection).await;
    sqlx::raw_sql("rollback").execute(connection).await?;
    Ok(())
}
