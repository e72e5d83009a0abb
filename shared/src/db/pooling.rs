//! The connection pooler between a process and the database.

use std::str::FromStr;

/// The state that a connection keeps between transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pooling {
    /// A session of the server with its settings, prepared statements and notifications.
    #[default]
    Session,
    /// Only prepared statements: a pooler in transaction mode that supports them, such as PgBouncer 1.21 or newer.
    Transaction,
    /// Nothing: a pooler in transaction mode that mixes up prepared statements, such as PgBouncer before 1.21.
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
