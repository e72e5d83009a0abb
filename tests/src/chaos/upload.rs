//! Clients that repeatedly upload and delete files with the same content.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::multipart::{Form, Part};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::Value;
use tokio::time::{Instant, sleep, sleep_until};

use super::schedule::APIS;
use super::service::{Access, ChaosService};

/// The number of uploads of each client. The last file is not deleted.
const UPLOADS: usize = 4;
/// The pause between the steps of a client. It makes the uploads last as long as the faults.
const STEP: Duration = Duration::from_millis(150);
/// The pause before a retry.
const PAUSE: Duration = Duration::from_millis(30);
/// The request timeout before a retry.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(40);

/// A client of one API. All clients of a run upload the same content, so that one deletes what another uploads.
pub(crate) struct Uploader {
    access: Access,
    api: usize,
    content: String,
    lost: Mutex<Vec<String>>,
}

impl Uploader {
    /// Creates one client for each API.
    pub(crate) fn all(service: &ChaosService, run: &str) -> Vec<Self> {
        let uploader = |api| Self {
            access: service.access(api),
            api,
            content: format!("the file of {run}"),
            lost: Mutex::default(),
        };
        (0..APIS).map(uploader).collect()
    }

    /// Uploads, reads and deletes files. The last file is not deleted.
    pub(crate) async fn live(&self, begun_at: Instant) {
        sleep_until(begun_at + STEP * self.api as u32 / 2).await;
        for number in 1..=UPLOADS {
            let asset = self.upload().await;
            sleep(STEP).await;
            self.read(&asset).await;
            if number < UPLOADS {
                self.delete(&asset).await;
            }
        }
    }

    /// Returns the files that were accepted but could not be read.
    pub(crate) fn lost(&self) -> Vec<String> {
        let lost = self.lost.lock();
        lost.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Uploads the content until the API accepts it, and returns the path of the asset.
    async fn upload(&self) -> String {
        loop {
            let part = Part::bytes(self.content.clone().into_bytes()).file_name("a.txt");
            let request = self.request(Method::POST, "/v1/assets");
            let answer = request.multipart(Form::new().part("file", part)).send();
            if let Ok(answer) = answer.await
                && answer.status() == StatusCode::CREATED
                && let Ok(asset) = answer.json::<Value>().await
            {
                return format!("/v1/assets/{}", asset["id"].as_str().unwrap_or_default());
            }
            sleep(PAUSE).await;
        }
    }

    /// Reads the asset until its content arrives or an answer shows that it is lost.
    async fn read(&self, asset: &str) {
        loop {
            let request = self.request(Method::GET, &format!("{asset}/content"));
            if let Ok(answer) = request.send().await {
                let status = answer.status();
                match answer.text().await {
                    Ok(text) if status.is_success() && text == self.content => return,
                    Ok(text) if is_answer(status, &text) => {
                        let lost = format!("{asset} came as {status}: {text}");
                        let mut all = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
                        return all.push(lost);
                    }
                    _ => {}
                }
            }
            sleep(PAUSE).await;
        }
    }

    /// Deletes the asset until the API reports that it is deleted.
    async fn delete(&self, asset: &str) {
        loop {
            let answer = self.request(Method::DELETE, asset).send().await;
            // The response to an earlier request may have been lost.
            let gone = [StatusCode::NO_CONTENT, StatusCode::NOT_FOUND];
            if answer.is_ok_and(|answer| gone.contains(&answer.status())) {
                return;
            }
            sleep(PAUSE).await;
        }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.access.request(0, method, path);
        request.timeout(ANSWER_TIMEOUT)
    }
}

/// Whether the response is about the asset itself and not about an unavailable part of the service.
fn is_answer(status: StatusCode, text: &str) -> bool {
    !status.is_server_error() || text.contains("content_lost")
}
