//! Database transactions.

use std::ops::{Deref, DerefMut};

use super::connection::Connection;

/// An open transaction. Dropping it rolls it back.
#[derive(Debug)]
pub struct Transaction {
    connection: Connection,
}

impl Transaction {
    pub(super) async fn begin(mut connection: Connection) -> sqlx::Result<Self> {
        connection.begin().await?;
        Ok(Self { connection })
    }

    /// Commits the transaction. After an outage it is unknown whether the commit took effect.
    pub async fn commit(mut self) -> sqlx::Result<()> {
        self.connection.end("commit").await
    }

    /// Rolls back the transaction and waits for the rollback to finish.
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
