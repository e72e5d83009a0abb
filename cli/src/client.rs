//! The API, from the outside.

mod follow;

use std::path::Path;

use anyhow::{Context, bail};
use reqwest::multipart::{Form, Part};
use reqwest::{Client as Http, Method, RequestBuilder, Response};
use serde::de::DeserializeOwned;
use serde_json::Value;
use shared::asset::Asset;
use shared::id::JobId;
use shared::job::Job;
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

pub(crate) use follow::Following;

/// A service and a key for it.
#[derive(Clone)]
pub(crate) struct Client {
    http: Http,
    url: String,
    api_key: String,
}

impl Client {
    pub(crate) fn new(url: &str, api_key: &str) -> anyhow::Result<Self> {
        let http = Http::builder()
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

    /// Fetches all pages of the list at `path`.
    pub(crate) async fn list(&self, path: &str) -> anyhow::Result<Vec<Value>> {
        let mut entries = Vec::new();
        let mut query = vec![("limit", "100".to_owned())];
        loop {
            let page: Value = self.get(path, &query).await?;
            entries.extend(page["data"].as_array().into_iter().flatten().cloned());
            let Some(cursor) = page["next_cursor"].as_str() else {
                return Ok(entries);
            };
            query = vec![("limit", "100".to_owned()), ("cursor", cursor.to_owned())];
        }
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
        let part = Part::file(path)
            .await
            .with_context(|| format!("cannot read {}", path.display()))?;
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

    /// Saves an asset to a file, which must not exist unless `overwrite`.
    pub(crate) async fn download(
        &self,
        asset: &Asset,
        to: &Path,
        overwrite: bool,
    ) -> anyhow::Result<()> {
        let mut options = File::options();
        options.write(true);
        if overwrite {
            options.create(true).truncate(true)
        } else {
            options.create_new(true)
        };
        let mut file = options
            .open(to)
            .await
            .with_context(|| format!("cannot write {}", to.display()))?;
        let mut response = self
            .send(self.request(Method::GET, &asset.content_url))
            .await?;
        while let Some(chunk) = response.chunk().await? {
            file.write_all(&chunk).await?;
        }
        Ok(file.flush().await?)
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

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
