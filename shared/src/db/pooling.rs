//! The connection pooler between a process and the database.

use std::str::FromStr;

/// What a connection keeps from one transaction to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pooling {
    /// A session of the server: its settings, prepared statements and notifications.
    #[default]
    Session,
    /// Prepared statements only: a pooler in transaction mode that knows them, such as PgBouncer 1.21 or newer.
    Transaction,
    /// Nothing: a pooler in transaction mode that mixes prepared statements up, such as PgBouncer before 1.21.
    TransactionUnnamed,
}

impl FromStr for Pooling {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "session" => Ok(Self::Session),
            "transaction" => Ok(Self::Transaction),
            "transaction-unnamed" => Ok(Self::TransactionUnnamed),
            _ => Err("expected `session`, `transaction` or `transaction-unnamed`"),
        }
    }
}
