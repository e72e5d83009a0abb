//! HTTP client of the API.

mod follow;
mod resolver;

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use futures_util::stream;
use reqwest::multipart::{Form, Part};
use reqwest::{Body, Client as Http, Method, RequestBuilder, Response, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;
use shared::asset::Asset;
use shared::id::JobId;
use shared::job::Job;

pub(crate) use follow::Following;
use resolver::Resolver;

/// The most entries of one page.
const PAGE: usize = 100;
/// Bytes of a file that are read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// A service and a key for it.
#[derive(Clone)]
pub(crate) struct Client {
    http: Http,
    url: String,
    api_key: String,
}

impl Client {
    pub(crate) fn new(url: &str, api_key: &str) -> anyhow::Result<Self> {
        check_url(url)?;
        let http = Http::builder()
            .dns_resolver(Resolver)
            .user_agent(concat!("skillet-cli/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self {
            http,
            url: url.trim_end_matches('/').to_owned(),
            api_key: api_key.to_owned(),
        })
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(&self.api_key)
    }

    /// Fetches what is at `path`.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, String)],
    ) -> anyhow::Result<T> {
        self.json(self.request(Method::GET, path).query(query))
            .await
    }

    /// Sends JSON to `path`.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> anyhow::Result<T> {
        self.json(self.request(Method::POST, path).json(body)).await
    }

    /// Fetches the entries of the list at `path`: all of them, or the first so many.
    pub(crate) async fn list(
        &self,
        path: &str,
        query: &[(&str, String)],
        limit: Option<usize>,
    ) -> anyhow::Result<Vec<Value>> {
        let mut entries = Vec::new();
        let mut cursor = None;
        loop {
            let missing = limit.map_or(PAGE, |limit| limit - entries.len()).min(PAGE);
            let mut query = query.to_vec();
            query.push(("limit", missing.to_string()));
            query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
            let page: Value = self.get(path, &query).await?;
            entries.extend(page["data"].as_array().into_iter().flatten().cloned());
            cursor = page["next_cursor"].as_str().map(str::to_owned);
            if cursor.is_none() || limit.is_some_and(|limit| entries.len() >= limit) {
                return Ok(entries);
            }
        }
    }

    /// Changes what is at `path`.
    pub(crate) async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> anyhow::Result<T> {
        self.json(self.request(Method::PATCH, path).json(body))
            .await
    }

    /// Sends JSON to `path`, and returns what it answers, which may be nothing.
    pub(crate) async fn put(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let answer = self
            .send(self.request(Method::PUT, path).json(body))
            .await?;
        let text = answer.text().await?;
        if text.is_empty() {
            return Ok(Value::Null);
        }
        Ok(serde_json::from_str(&text)?)
    }

    /// Asks whether the service has all that it needs.
    pub(crate) async fn check_ready(&self) -> anyhow::Result<()> {
        self.send(self.request(Method::GET, "/readyz"))
            .await
            .map(drop)
    }

    /// Removes what is at `path`.
    pub(crate) async fn delete(&self, path: &str) -> anyhow::Result<()> {
        self.send(self.request(Method::DELETE, path))
            .await
            .map(drop)
    }

    pub(crate) async fn job(&self, job: JobId) -> anyhow::Result<Job> {
        self.get(&format!("/v1/jobs/{job}"), &[]).await
    }

    pub(crate) async fn cancel(&self, job: JobId) -> anyhow::Result<Job> {
        self.post(&format!("/v1/jobs/{job}/cancel"), &Value::Null)
            .await
    }

    /// Uploads a file as it is read.
    pub(crate) async fn upload_file(&self, path: &Path) -> anyhow::Result<Asset> {
        let name = path
            .file_name()
            .context("an input must be a file")?
            .to_string_lossy()
            .into_owned();
        let part = file_part(path).with_context(|| format!("cannot read {}", path.display()))?;
        self.upload(part.file_name(name)).await
    }

    /// Uploads the archive of a skill, and returns the skill.
    pub(crate) async fn upload_skill(&self, archive: Vec<u8>) -> anyhow::Result<Value> {
        let part = Part::bytes(archive).file_name("skill.tar.gz");
        let request = self.request(Method::POST, "/v1/skills");
        self.json(request.multipart(Form::new().part("file", part)))
            .await
    }

    /// Uploads bytes.
    pub(crate) async fn upload_bytes(
        &self,
        name: &str,
        content: &'static [u8],
    ) -> anyhow::Result<Asset> {
        self.upload(Part::bytes(content).file_name(name.to_owned()))
            .await
    }

    async fn upload(&self, part: Part) -> anyhow::Result<Asset> {
        self.json(
            self.request(Method::POST, "/v1/assets")
                .multipart(Form::new().part("file", part)),
        )
        .await
    }

    /// Writes the content of an asset to a file.
    pub(crate) async fn download(&self, asset: &Asset, to: &mut File) -> anyhow::Result<()> {
        let request = self.request(Method::GET, &asset.content_url);
        let mut response = self.send(request).await?;
        while let Some(chunk) = response.chunk().await? {
            to.write_all(&chunk)?;
        }
        Ok(())
    }

    /// Follows a job's log from its beginning.
    pub(crate) fn follow(&self, job: JobId) -> Following {
        Following::new(self.clone(), job)
    }

    async fn json<T: DeserializeOwned>(&self, request: RequestBuilder) -> anyhow::Result<T> {
        Ok(self.send(request).await?.json().await?)
    }

    async fn send(&self, request: RequestBuilder) -> anyhow::Result<Response> {
        let response = request
            .send()
            .await
            .with_context(|| format!("cannot reach {}", self.url))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let problem: Value = response.json().await.unwrap_or_default();
        let Some(detail) = problem["detail"].as_str() else {
            bail!("the service answered with {status}")
        };
        let fields = problem["errors"].as_array().into_iter().flatten();
        let fields = fields.map(|field| {
            format!(
                "\n  {}: {}",
                text(&field["pointer"]),
                text(&field["detail"])
            )
        });
        bail!("{detail}{}", fields.collect::<String>())
    }
}

/// A URL that requests can be sent to.
fn check_url(url: &str) -> anyhow::Result<()> {
    let parsed = Url::parse(url).ok();
    let is_http = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    ensure!(
        parsed.as_ref().is_some_and(is_http),
        "`{url}` is not the URL of a service: it must begin with http:// or https://, e.g. http://127.0.0.1:8420 \
         (--url, SKILLET_URL)"
    );
    Ok(())
}

/// A file as it is read. A command has little else to do meanwhile, so it reads without other threads.
fn file_part(path: &Path) -> std::io::Result<Part> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let chunks = stream::try_unfold(file, async |mut file| {
        let mut chunk = vec![0; CHUNK_BYTES];
        let length = file.read(&mut chunk)?;
        chunk.truncate(length);
        Ok::<_, std::io::Error>((length > 0).then_some((chunk, file)))
    });
    Ok(Part::stream_with_length(Body::wrap_stream(chunks), size))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
