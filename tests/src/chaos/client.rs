//! A client that retries until it has a response, and resumes broken streams.

use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::schedule::{Kind, Planned};
use super::service::Access;
use super::workload;

/// The pause before a retry.
const PAUSE: Duration = Duration::from_millis(30);
/// The request timeout before a retry.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// The short timeout of a client that hangs up before the response.
const HANG_UP_TIMEOUT: Duration = Duration::from_millis(4);

/// A client of one job.
pub(crate) struct Client {
    pub(crate) access: Access,
    pub(crate) key: String,
    pub(crate) plan: Planned,
    pub(crate) conversation: String,
    /// The client's observations. They stay available when [`Client::live`] is cancelled.
    pub(crate) seen: Mutex<Seen>,
}

/// A client's observations.
#[derive(Clone, Default)]
pub(crate) struct Seen {
    pub(crate) accepted: Vec<String>,
    pub(crate) cancel_accepted: bool,
    pub(crate) followed: Vec<String>,
}

impl Client {
    /// Submits the job at its time and follows it to its end.
    pub(crate) async fn live(&self, begun_at: Instant) -> anyhow::Result<()> {
        sleep_until(begun_at + self.plan.at).await;
        let id = &self.submit().await?;
        // Approvals are answered until the job has ended.
        let following = async {
            tokio::select! {
                followed = self.follow(id) => followed,
                never = self.answer(id), if matches!(self.plan.kind, Kind::Approval { .. }) => match never {},
            }
        };
        tokio::try_join!(following, self.cancel(id))?;
        Ok(())
    }

    /// Returns the client's observations.
    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether only workers of the next version can run the job.
    pub(crate) fn is_of_next_version(&self) -> bool {
        self.plan.kind == Kind::NextVersion
    }

    /// Returns the conversation id, if the job belongs to a conversation.
    pub(crate) fn conversation_id(&self) -> Option<String> {
        (self.plan.kind == Kind::Conversation).then(|| self.conversation.clone())
    }

    /// Sends the request until it is accepted, and again if the client hangs up. Returns the job id.
    async fn submit(&self) -> anyhow::Result<String> {
        let body = workload::request(&self.key, &self.plan, &self.conversation);
        let request = self.request(Method::POST, "/v1/jobs");
        let request = request.header("Idempotency-Key", &self.key).json(&body);
        if self.plan.hangs_up
            && let Ok(Some(answer)) = timeout(HANG_UP_TIMEOUT, send(&request)).await
        {
            self.accept(answer)?;
        }
        let id = self.accept(send_until_answered(&request).await)?;
        if self.plan.hangs_up {
            self.accept(send_until_answered(&request).await)?;
        }
        Ok(id)
    }

    /// Records the job id of a response.
    fn accept(&self, (status, answer): Answer) -> anyhow::Result<String> {
        ensure!(
            status.is_success(),
            "a request was answered with {status}: {answer}"
        );
        let id = answer["id"].as_str().context("a job has an id")?.to_owned();
        self.seen().accepted.push(id.clone());
        Ok(id)
    }

    /// Cancels the job, if that is planned.
    async fn cancel(&self, id: &str) -> anyhow::Result<()> {
        let Some(after) = self.plan.cancel_after else {
            return Ok(());
        };
        sleep(after).await;
        let request = self.request(Method::POST, &format!("/v1/jobs/{id}/cancel"));
        let (status, answer) = send_until_answered(&request).await;
        ensure!(
            status == StatusCode::OK,
            "a cancellation was answered with {status}: {answer}"
        );
        self.seen().cancel_accepted = true;
        Ok(())
    }

    /// Answers each pending approval of the job as planned. Never returns.
    async fn answer(&self, id: &str) -> Infallible {
        let pending = format!("/v1/jobs/{id}/approvals?status=pending");
        let pending = self.request(Method::GET, &pending);
        let decision = match self.plan.kind {
            Kind::Approval { approved: true } => "approve",
            _ => "deny",
        };
        loop {
            let (_, page) = send(&pending).await.unwrap_or_default();
            for approval in page["data"].as_array().into_iter().flatten() {
                let approval = approval["id"].as_str().unwrap_or_default();
                let request = self.request(Method::POST, &format!("/v1/approvals/{approval}"));
                // If this request is lost, the approval is still pending in the next iteration.
                send(&request.json(&json!({ "decision": decision }))).await;
            }
            sleep(PAUSE).await;
        }
    }

    /// Follows the job to the end of its stream. Hangs up now and then.
    async fn follow(&self, id: &str) -> anyhow::Result<()> {
        let path = format!("/v1/jobs/{id}/stream");
        loop {
            let count = self.seen().followed.len();
            let request = self.request(Method::GET, &path);
            match request.header("Last-Event-ID", count).send().await {
                Ok(response) if response.status() == StatusCode::NO_CONTENT => return Ok(()),
                Ok(response) if response.status() == StatusCode::OK => {
                    let mut events = Vec::new();
                    read_stream(response, &mut events, self.plan.patience).await;
                    self.seen().followed.extend(events);
                }
                Ok(response) if response.status().is_client_error() => {
                    bail!("the stream was refused: {}", response.text().await?)
                }
                _ => sleep(PAUSE).await,
            }
        }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.access.request(self.plan.tenant, method, path)
    }
}

impl Access {
    /// Creates a request of a tenant.
    pub(crate) fn request(&self, tenant: usize, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.url));
        request.bearer_auth(&self.keys[tenant])
    }
}

/// Reads raw events until there are `enough` of them or the stream ends.
pub(crate) async fn read_stream(
    mut response: reqwest::Response,
    events: &mut Vec<String>,
    enough: usize,
) {
    let mut rest = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        rest.extend_from_slice(&chunk);
        while let Some(end) = rest.windows(2).position(|pair| pair == b"\n\n") {
            let event: Vec<_> = rest.drain(..end + 2).collect();
            if !event.starts_with(b":") {
                events.push(String::from_utf8_lossy(&event[..end]).into_owned());
            }
            if events.len() >= enough {
                return;
            }
        }
    }
}

type Answer = (StatusCode, Value);

/// Sends a request once. Returns `None` if there is no response or one that asks for a retry.
async fn send(request: &RequestBuilder) -> Option<Answer> {
    let response = request
        .try_clone()?
        .timeout(ANSWER_TIMEOUT)
        .send()
        .await
        .ok()?;
    let status = response.status();
    let body = response.bytes().await.ok()?;
    // On a busy machine, a client may send its request later than the server waits for it.
    let is_answer = !status.is_server_error() && status != StatusCode::REQUEST_TIMEOUT;
    is_answer.then(|| (status, serde_json::from_slice(&body).unwrap_or_default()))
}

/// Sends a request until there is a response.
pub(crate) async fn send_until_answered(request: &RequestBuilder) -> Answer {
    loop {
        if let Some(answer) = send(request).await {
            return answer;
        }
        sleep(PAUSE).await;
    }
}
