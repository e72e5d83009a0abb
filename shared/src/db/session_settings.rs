//! Settings of a session, or of each transaction if a pooler shares sessions.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, PgConnection};

use super::pooling::Pooling;
use super::unnamed;

/// Settings of connections, such as `jit = off`.
#[derive(Clone, Copy, Debug)]
pub(super) struct SessionSettings(pub(super) &'static [&'static str]);

/// The scripts for a new connection and for the start of a transaction.
#[derive(Clone, Debug)]
pub(super) struct Scripts {
    /// Sets the settings once per connection. `None` if each transaction sets them.
    pub(super) connect: Option<Arc<str>>,
    pub(super) begin: Arc<str>,
    pub(super) pooling: Pooling,
}

impl Scripts {
    /// Prepares a new connection.
    pub(super) async fn prepare(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        if let Some(script) = &self.connect {
            sqlx::raw_sql(AssertSqlSafe(&**script))
                .execute(connection)
                .await?;
        } else if self.pooling == Pooling::TransactionUnnamed {
            unnamed::learn_types(connection).await?;
        }
        Ok(())
    }
}

impl SessionSettings {
    pub(super) fn scripts(self, pooling: Pooling) -> Scripts {
        let set = |command: &str| {
            let commands = self
                .0
                .iter()
                .map(|setting| format!("; {command} {setting}"));
            commands.collect::<String>()
        };
        match pooling {
            Pooling::Session => Scripts {
                connect: Some(set("set").trim_start_matches("; ").into()),
                begin: "begin".into(),
                pooling,
            },
            Pooling::Transaction | Pooling::TransactionUnnamed => Scripts {
                connect: None,
                begin: format!("begin{}", set("set local")).into(),
                pooling,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pooler_gets_the_settings_with_each_transaction() {
        let settings = SessionSettings(&["jit = off", "statement_timeout = '8s'"]);
        let session = settings.scripts(Pooling::Session);
        assert_eq!(
            session.connect.unwrap().as_ref(),
            "set jit = off; set statement_timeout = '8s'"
        );
        assert_eq!(session.begin.as_ref(), "begin");
        let transaction = settings.scripts(Pooling::Transaction);
        assert!(transaction.connect.is_none());
        assert_eq!(
            transaction.begin.as_ref(),
            "begin; set local jit = off; set local statement_timeout = '8s'"
        );
    }
}
