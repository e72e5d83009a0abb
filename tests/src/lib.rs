//! Test infrastructure: processes, a scripted model server, a Bot API server, a webhook receiver, PgBouncer, a
//! replicated database, an S3 server, and chaos runs.

pub mod bot_server;
pub mod chaos;
pub mod model_server;
pub mod new_job;
pub mod pgbouncer;
pub mod process;
pub mod receiver;
pub mod replication;
pub mod s3;
