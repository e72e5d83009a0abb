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
        connection.begin().await?;
        Ok(Self { connection })
    }

    /// Makes all of it permanent. After an outage it is not known whether that has happened.
    pub async fn commit(mut self) -> sqlx::Result<()> {
        self.connection.end("commit").await
    }

    /// Undoes all of it, and returns when that is done.
    pub async fn rollback(mut self) -> sqlx::Result<()> {
        self.connection.end("rollback").await
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
