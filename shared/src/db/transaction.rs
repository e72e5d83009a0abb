//! Transactions.

use std::ops::{Deref, DerefMut};

use super::connection::Connection;

/// An open transaction. Dropping it undoes it.
#[derive(Debug)]
pub struct Transaction {
    connection: Connection,
}

impl Transaction {
    pub(super) async fn begin(mut connection: Connection) -> sqlx::Result<Self> {
        // Set first: if this is dropped on its way, the transaction may have begun.
        connection.in_transaction = true;
        sqlx::raw_sql("begin").execute(&mut connection).await?;
        Ok(Self { connection })
    }

    /// Makes all of it permanent. After an outage it is not known whether that has happened.
    pub async fn commit(mut self) -> sqlx::Result<()> {
        sqlx::raw_sql("commit")
            .execute(&mut self.connection)
            .await?;
        self.connection.in_transaction = false;
        Ok(())
    }

    /// Undoes all of it, and returns when that is done.
    pub async fn rollback(mut self) -> sqlx::Result<()> {
        sqlx::raw_sql("rollback")
            .execute(&mut self.connection)
            .await?;
        self.connection.in_transaction = false;
        Ok(())
    }
}

impl Deref for Transaction {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl DerefMut for Transaction {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}
