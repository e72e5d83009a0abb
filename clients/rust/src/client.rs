//! The [`Client`]: its settings and its methods for jobs, files and approvals.

use std::env;
use std::path::{Path, PathBuf};

use reqwest::Method;
use serde_json::json;
use skillet_wire::approval::Approval;
use skillet_wire::asset::Asset;
use skillet_wire::event::ApprovalStatus;
use skillet_wire::id::{ApprovalId, JobId};
use skillet_wire::job::Job;

use crate::connection::{IDEMPOTENCY_KEY, ServiceConnection};
use crate::download;
use crate::error::Error;
use crate::events::TenantEvents;
use crate::file::UploadFile;
use crate::follow::Following;
use crate::new_job::NewJob;
use crate::retry::Timing;
use crate::submit::{RunCall, SubmitCall};
use crate::upload::UploadCall;

/// A client for one service. Clones share its connections.
#[derive(Clone)]
pub struct Client {
    pub(crate) connection: ServiceConnection,
}

impl Client {
    /// Creates a client for the service at `url` with default settings. Sends no request.
    pub fn new(url: &str, api_key: &str) -> Result<Self, Error> {
        Self::builder(url, api_key).build()
    }

    /// Creates a client from the environment variables `SKILLET_URL` and `SKILLET_API_KEY`. Sends no request.
    pub fn from_env() -> Result<Self, Error> {
        let url = env::var("SKILLET_URL").unwrap_or_default();
        let api_key = env::var("SKILLET_API_KEY").map_err(|_| Error::MissingKey)?;
        Self::new(&url, &api_key)
    }

    /// Returns a builder for a client with other settings.
    pub fn builder(url: &str, api_key: &str) -> ClientBuilder {
        ClientBuilder::new(url, api_key)
    }

    /// Submits a job, follows it to its end and returns it. A job that fails or is cancelled returns
    /// [`Error::JobFailed`].
    pub fn run(&self, job: NewJob) -> RunCall<'_> {
        RunCall::new(&self.connection, job)
    }

    /// Uploads the files, creates the job and returns it without waiting for its end. Retries after a lost response do
    /// not create a second job. The job keeps running if this program exits.
    pub fn submit(&self, job: NewJob) -> SubmitCall<'_> {
        SubmitCall::new(&self.connection, job)
    }

    /// Follows the log of a job from its first event.
    pub fn follow(&self, job: JobId) -> Following {
        Following::new(self.connection.clone(), job)
    }

    /// Follows the milestones of all jobs of the tenant, starting now.
    pub fn events(&self) -> TenantEvents {
        TenantEvents::new(self.connection.clone())
    }

    /// Returns the current state of a job.
    pub async fn job(&self, job: JobId) -> Result<Job, Error> {
        self.get(&format!("/v1/jobs/{job}"), &[]).await
    }

    /// Cancels a job and returns it. A job that has ended does not change.
    pub async fn cancel(&self, job: JobId) -> Result<Job, Error> {
        let path = format!("/v1/jobs/{job}/cancel");
        self.post(&path, &json!(null)).await
    }

    /// Creates a new job with the request of a job that has ended. Repeated calls with the same key create only one
    /// job.
    pub async fn retry(&self, job: JobId, idempotency_key: &str) -> Result<Job, Error> {
        let path = format!("/v1/jobs/{job}/retry");
        let request = self.connection.request(Method::POST, &path);
        let request = request.header(IDEMPOTENCY_KEY, idempotency_key);
        self.connection.json(request).await
    }

    /// Uploads a file: a path, or a name and its content. A file at a path is read while it is sent.
    pub fn upload(&self, file: impl Into<UploadFile>) -> UploadCall<'_, Asset> {
        self.send_file("/v1/assets", file)
    }

    /// Downloads an asset to a file, or to a folder under the asset's name. Returns the path of the file.
    ///
    /// The content is written to a temporary file. If its SHA-256 matches the asset, the temporary file is renamed and
    /// replaces an existing file. On an error, an existing file does not change.
    pub async fn download(&self, asset: &Asset, to: impl AsRef<Path>) -> Result<PathBuf, Error> {
        download::download(&self.connection, asset, to.as_ref()).await
    }

    /// Approves a tool call that waits for approval.
    pub async fn approve(
        &self,
        approval: ApprovalId,
        reason: Option<&str>,
    ) -> Result<Approval, Error> {
        self.resolve(approval, ApprovalStatus::Approved, reason)
            .await
    }

    /// Denies a tool call that waits for approval. The model receives the reason.
    pub async fn deny(
        &self,
        approval: ApprovalId,
        reason: Option<&str>,
    ) -> Result<Approval, Error> {
        self.resolve(approval, ApprovalStatus::Denied, reason).await
    }

    async fn resolve(
        &self,
        id: ApprovalId,
        status: ApprovalStatus,
        reason: Option<&str>,
    ) -> Result<Approval, Error> {
        let path = format!("/v1/approvals/{id}");
        let decision = match status {
            ApprovalStatus::Approved => "approve",
            _ => "deny",
        };
        let request = self.connection.request(Method::POST, &path);
        let body = json!({"decision": decision, "reason": reason});
        let refusal = match self.connection.send_repeatable(request.json(&body)).await {
            Ok(response) => return self.connection.read(response).await,
            Err(Error::Service(refusal)) if refusal.status == 409 => refusal,
            Err(error) => return Err(error),
        };
        // An earlier attempt may have succeeded although its response was lost.
        let approval: Approval = self.get(&path, &[]).await?;
        if approval.status == status {
            Ok(approval)
        } else {
            Err(Error::Service(refusal))
        }
    }
}

/// The settings of a client.
pub struct ClientBuilder {
    url: String,
    api_key: String,
    user_agent: String,
    timing: Timing,
}

impl ClientBuilder {
    fn new(url: &str, api_key: &str) -> Self {
        Self {
            url: url.to_owned(),
            api_key: api_key.to_owned(),
            user_agent: concat!("skillet-client-rust/", env!("CARGO_PKG_VERSION")).to_owned(),
            timing: Timing::default(),
        }
    }

    /// Sets the `User-Agent` header.
    #[must_use]
    pub fn user_agent(self, user_agent: impl Into<String>) -> Self {
        Self {
            user_agent: user_agent.into(),
            ..self
        }
    }

    /// Sets the timeouts and retry limits.
    #[must_use]
    pub fn timing(self, timing: Timing) -> Self {
        Self { timing, ..self }
    }

    /// Builds the client. Sends no request.
    pub fn build(self) -> Result<Client, Error> {
        let Self {
            url,
            api_key,
            user_agent,
            timing,
        } = self;
        let connection = ServiceConnection::new(&url, api_key, &user_agent, timing)?;
        Ok(Client { connection })
    }
}
