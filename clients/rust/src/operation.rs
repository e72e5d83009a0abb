//! Generic operations by method and path. The response types are in [`types`](crate::types).

use reqwest::Method;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client::Client;
use crate::error::Error;
use crate::file::UploadFile;
use crate::upload::UploadCall;

/// The maximum number of entries in a page.
const PAGE: usize = 100;

#[derive(Deserialize)]
struct ListPage<T> {
    data: Vec<T>,
    next_cursor: Option<String>,
}

impl Client {
    /// Returns the resource at `path`, such as `/v1/skills/html`.
    pub async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, String)],
    ) -> Result<T, Error> {
        let request = self.connection.request(Method::GET, path);
        self.connection.json(request.query(query)).await
    }

    /// Sends a POST request with JSON to `path`. It is retried only after status 429.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &(impl Serialize + Sync + ?Sized),
    ) -> Result<T, Error> {
        let request = self.connection.request(Method::POST, path);
        self.connection.json(request.json(body)).await
    }

    /// Sends a PATCH request with JSON to `path`. It is retried only after status 429.
    pub async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &(impl Serialize + Sync + ?Sized),
    ) -> Result<T, Error> {
        let request = self.connection.request(Method::PATCH, path);
        self.connection.json(request.json(body)).await
    }

    /// Sends a PUT request with JSON to `path`. A response without content returns `null`.
    pub async fn put(
        &self,
        path: &str,
        body: &(impl Serialize + Sync + ?Sized),
    ) -> Result<Value, Error> {
        let request = self.connection.request(Method::PUT, path).json(body);
        let response = self.connection.send(request).await?;
        match self.connection.body(response).await? {
            body if body.is_empty() => Ok(Value::Null),
            body => serde_json::from_slice(&body).map_err(Error::Answer),
        }
    }

    /// Deletes the resource at `path`.
    pub async fn delete(&self, path: &str) -> Result<(), Error> {
        let request = self.connection.request(Method::DELETE, path);
        self.connection.send(request).await.map(drop)
    }

    /// Returns all entries of the list at `path`, or the first `limit` entries.
    pub async fn list<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, String)],
        limit: Option<usize>,
    ) -> Result<Vec<T>, Error> {
        let mut entries = Vec::new();
        let mut cursor = None;
        loop {
            let missing = limit.map_or(PAGE, |limit| limit - entries.len()).min(PAGE);
            let mut query = query.to_vec();
            query.push(("limit", missing.to_string()));
            query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
            let page: ListPage<T> = self.get(path, &query).await?;
            entries.extend(page.data);
            cursor = page.next_cursor;
            if cursor.is_none() || limit.is_some_and(|limit| entries.len() >= limit) {
                return Ok(entries);
            }
        }
    }

    /// Uploads a file to `path`, such as the archive of a skill to `/v1/skills`.
    pub fn send_file<T: DeserializeOwned>(
        &self,
        path: &str,
        file: impl Into<UploadFile>,
    ) -> UploadCall<'_, T> {
        UploadCall::new(&self.connection, path, file.into())
    }

    /// Checks that the service is ready to accept requests.
    pub async fn check_ready(&self) -> Result<(), Error> {
        let request = self.connection.request(Method::GET, "/readyz");
        self.connection.send(request).await.map(drop)
    }
}
