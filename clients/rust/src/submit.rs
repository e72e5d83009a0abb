//! Submission of jobs.

use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;

use reqwest::Method;
use serde::Serialize;
use skillet_wire::asset::Asset;
use skillet_wire::event::{Event, EventData};
use skillet_wire::id::AssetId;
use skillet_wire::job::{Job, Status};

use crate::connection::{IDEMPOTENCY_KEY, ServiceConnection};
use crate::error::Error;
use crate::file::InputFile;
use crate::follow::Following;
use crate::new_job::NewJob;
use crate::random::random_hex;
use crate::upload::{OnProgress, UploadCall, UploadProgress};

/// The future of a call.
type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// A call of [`Client::submit`](crate::Client::submit). It starts when it is awaited.
#[must_use = "a job is submitted when this is awaited"]
pub struct SubmitCall<'a> {
    connection: &'a ServiceConnection,
    job: NewJob,
    idempotency_key: Option<String>,
    on_progress: Option<OnProgress>,
}

/// A call of [`Client::run`](crate::Client::run). It starts when it is awaited.
#[must_use = "a job is submitted when this is awaited"]
pub struct RunCall<'a> {
    submit: SubmitCall<'a>,
}

/// The request body: a job with its uploaded files.
#[derive(Serialize)]
struct SubmitBody<'a> {
    #[serde(flatten)]
    job: &'a NewJob,
    inputs: Vec<SubmitInput<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum SubmitInput<'a> {
    Asset { asset_id: AssetId },
    Url { url: &'a str },
}

impl<'a> SubmitCall<'a> {
    pub(crate) fn new(connection: &'a ServiceConnection, job: NewJob) -> Self {
        Self {
            connection,
            job,
            idempotency_key: None,
            on_progress: None,
        }
    }

    /// Sets the idempotency key. Repeated requests with the same key create only one job. The default is a random key.
    pub fn idempotency_key(self, key: impl Into<String>) -> Self {
        Self {
            idempotency_key: Some(key.into()),
            ..self
        }
    }

    /// Sets a function that receives the progress of uploads.
    pub fn on_progress(self, report: impl Fn(UploadProgress) + Send + Sync + 'static) -> Self {
        Self {
            on_progress: Some(Arc::new(report)),
            ..self
        }
    }

    async fn send(self) -> Result<Job, Error> {
        let connection = self.connection;
        let mut inputs = Vec::new();
        for file in &self.job.files {
            inputs.push(match file {
                InputFile::Url(url) => SubmitInput::Url { url },
                InputFile::Asset(asset_id) => SubmitInput::Asset {
                    asset_id: *asset_id,
                },
                InputFile::Upload(file) => {
                    let upload = UploadCall::<Asset>::new(connection, "/v1/assets", file.clone());
                    let asset = upload.reporting_to(self.on_progress.clone()).await?;
                    SubmitInput::Asset { asset_id: asset.id }
                }
            });
        }
        let key = self.idempotency_key.unwrap_or_else(random_hex);
        let request = connection
            .request(Method::POST, "/v1/jobs")
            .header(IDEMPOTENCY_KEY, key)
            .json(&SubmitBody {
                job: &self.job,
                inputs,
            });
        connection.json(request).await
    }
}

impl<'a> RunCall<'a> {
    pub(crate) fn new(connection: &'a ServiceConnection, job: NewJob) -> Self {
        Self {
            submit: SubmitCall::new(connection, job),
        }
    }

    /// Sets the idempotency key. Repeated requests with the same key create only one job. The default is a random key.
    pub fn idempotency_key(self, key: impl Into<String>) -> Self {
        Self {
            submit: self.submit.idempotency_key(key),
        }
    }

    /// Sets a function that receives the progress of uploads.
    pub fn on_progress(self, report: impl Fn(UploadProgress) + Send + Sync + 'static) -> Self {
        Self {
            submit: self.submit.on_progress(report),
        }
    }

    /// Runs the job and calls a function with each event, in order. The next event waits until the function is done.
    pub async fn on_event<F>(self, handle: impl FnMut(Event) -> F) -> Result<Job, Error>
    where
        F: Future<Output = ()>,
    {
        self.run(true, handle).await
    }

    async fn run<F>(
        self,
        has_deltas: bool,
        mut handle: impl FnMut(Event) -> F,
    ) -> Result<Job, Error>
    where
        F: Future<Output = ()>,
    {
        let connection = self.submit.connection;
        let mut job = self.submit.send().await?;
        let following = Following::new(connection.clone(), job.id);
        let mut following = match has_deltas {
            true => following,
            false => following.without_deltas(),
        };
        let mut ended = None;
        while let Some(event) = following.next().await? {
            if event.is_terminal() {
                ended = ended_job(&event);
            }
            handle(event).await;
        }
        job = match ended {
            Some(job) => job,
            // The event may come from a newer service and have a form that this client cannot parse.
            None => {
                let path = format!("/v1/jobs/{}", job.id);
                connection
                    .json(connection.request(Method::GET, &path))
                    .await?
            }
        };
        if job.status == Status::Completed {
            Ok(job)
        } else {
            Err(Error::JobFailed(Box::new(job)))
        }
    }
}

/// Returns the job in the last event of a log.
fn ended_job(event: &Event) -> Option<Job> {
    match event.parse() {
        Ok(
            EventData::JobCompleted(job) | EventData::JobFailed(job) | EventData::JobCancelled(job),
        ) => Some(*job),
        _ => None,
    }
}

impl<'a> IntoFuture for SubmitCall<'a> {
    type Output = Result<Job, Error>;
    type IntoFuture = Answer<'a, Job>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

impl<'a> IntoFuture for RunCall<'a> {
    type Output = Result<Job, Error>;
    type IntoFuture = Answer<'a, Job>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run(false, |_| std::future::ready(())))
    }
}
