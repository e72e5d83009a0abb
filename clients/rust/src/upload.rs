//! Uploads of files.

use std::fs::File;
use std::future::IntoFuture;
use std::io::{self, Read};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::stream;
use reqwest::multipart::{Form, Part};
use reqwest::{Body, Method, Request};
use serde::de::DeserializeOwned;

use crate::connection::ServiceConnection;
use crate::error::Error;
use crate::file::UploadFile;

/// The chunk size of file reads. Reads block the async thread, because switching to another thread takes longer.
const CHUNK_BYTES: usize = 64 * 1024;

/// The progress of one upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadProgress {
    /// The name of the file.
    pub name: String,
    /// The number of bytes sent so far.
    pub sent: u64,
    /// The size of the file.
    pub total: u64,
}

/// The function that receives the progress of uploads.
pub(crate) type OnProgress = Arc<dyn Fn(UploadProgress) + Send + Sync>;

/// An upload. It starts when it is awaited.
#[must_use = "an upload begins when it is awaited"]
pub struct UploadCall<'a, T> {
    connection: &'a ServiceConnection,
    path: String,
    file: UploadFile,
    on_progress: Option<OnProgress>,
    answer: PhantomData<fn() -> T>,
}

impl<'a, T: DeserializeOwned> UploadCall<'a, T> {
    pub(crate) fn new(connection: &'a ServiceConnection, path: &str, file: UploadFile) -> Self {
        Self {
            connection,
            path: path.to_owned(),
            file,
            on_progress: None,
            answer: PhantomData,
        }
    }

    /// Sets a function that receives the progress of the upload.
    pub fn on_progress(self, report: impl Fn(UploadProgress) + Send + Sync + 'static) -> Self {
        self.reporting_to(Some(Arc::new(report)))
    }

    pub(crate) fn reporting_to(self, on_progress: Option<OnProgress>) -> Self {
        Self {
            on_progress,
            ..self
        }
    }

    async fn send(self) -> Result<T, Error> {
        // Retrying is safe: at worst it leaves an unused file.
        let response = self
            .connection
            .with_retries(true, || {
                let answer = self
                    .request()
                    .map(|request| self.connection.execute(request));
                async { answer?.await }
            })
            .await?;
        self.connection.read(response).await
    }

    fn request(&self) -> Result<Request, Error> {
        let form = Form::new().part("file", self.part()?);
        let request = self.connection.request(Method::POST, &self.path);
        request.multipart(form).build().map_err(Error::Setup)
    }

    fn part(&self) -> Result<Part, Error> {
        let (name, total, content): (String, u64, Box<dyn Read + Send + Sync>) = match &self.file {
            UploadFile::Path(path) => {
                let failed = |cause| Error::File {
                    action: "read",
                    path: path.clone(),
                    cause,
                };
                let file = File::open(path).map_err(failed)?;
                let data = file.metadata().map_err(failed)?;
                if data.is_dir() {
                    return Err(failed(io::ErrorKind::IsADirectory.into()));
                }
                let name = path.file_name().unwrap_or(path.as_os_str());
                let name = name.to_string_lossy().into_owned();
                (name, data.len(), Box::new(file))
            }
            UploadFile::Bytes { name, content } => {
                let size = content.len() as u64;
                (
                    name.clone(),
                    size,
                    Box::new(io::Cursor::new(content.clone())),
                )
            }
        };
        let report = self.on_progress.clone();
        let chunks = chunks(name.clone(), total, content, report);
        let part = Part::stream_with_length(Body::wrap_stream(chunks), total);
        Ok(part.file_name(name))
    }
}

/// Splits the content into chunks and reports the progress of each chunk when it is read.
fn chunks(
    name: String,
    total: u64,
    content: Box<dyn Read + Send + Sync>,
    report: Option<OnProgress>,
) -> impl stream::Stream<Item = io::Result<Vec<u8>>> + Send + Sync {
    stream::try_unfold(
        (content, 0, name, report),
        move |(mut content, sent, name, report)| async move {
            let mut chunk = vec![0; CHUNK_BYTES];
            let length = content.read(&mut chunk)?;
            chunk.truncate(length);
            let sent = sent + length as u64;
            if length == 0 {
                return Ok(None);
            }
            if let Some(report) = &report {
                let name = name.clone();
                report(UploadProgress { name, sent, total });
            }
            Ok(Some((chunk, (content, sent, name, report))))
        },
    )
}

impl<'a, T: DeserializeOwned + 'a> IntoFuture for UploadCall<'a, T> {
    type Output = Result<T, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}
