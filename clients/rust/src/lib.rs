//! Client of Skillet, a self-hosted HTTP API that runs AI agent jobs and returns files.
//!
//! ```no_run
//! use skillet_client::{Client, NewJob};
//!
//! # async fn example() -> Result<(), skillet_client::Error> {
//! let client = Client::from_env()?;
//! let job = NewJob::skill("shell", "```bash\nwc -w < notes.txt\n```")
//!     .model("script/bash")
//!     .file("notes.txt");
//! let job = client.run(job).await?;
//! for output in &job.result.outputs {
//!     client.download(&output.asset, ".").await?;
//! }
//! # Ok(())
//! # }
//! ```

mod client;
mod connection;
mod download;
mod error;
mod events;
mod file;
mod follow;
mod new_job;
mod operation;
mod random;
mod resolver;
mod retry;
mod stream;
mod submit;
mod upload;
mod webhook;

pub use client::{Client, ClientBuilder};
pub use error::{Error, ServiceError};
pub use events::{TenantEvent, TenantEvents};
pub use file::{InputFile, UploadFile};
pub use follow::Following;
pub use new_job::{JobHooks, JobLimits, NewJob};
pub use retry::Timing;
/// The types of the API.
pub use skillet_wire as types;
pub use submit::{RunCall, SubmitCall};
pub use upload::{UploadCall, UploadProgress};
pub use webhook::{WebhookError, verify_webhook, verify_webhook_at};
