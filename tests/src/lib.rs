//! Foundations of the tests: processes, a scripted model server, a server of the Bot API, a receiver of webhooks,
//! PgBouncer, a replicated database, an S3 server, and chaos runs.

pub mod bot_server;
pub mod chaos;
pub mod model_server;
pub mod new_job;
pub mod pgbouncer;
pub mod process;
pub mod receiver;
pub mod replication;
pub mod s3;
