//! A model whose calls respect the quota and the circuit breaker of its provider's account.

use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use serde_json::Value;
use shared::event::{EventData, LogLevel, LogLine};
use tokio::time::{Instant, timeout};
use worker_model::{LanguageModel, ModelError, ModelEvent, ModelRequest};
use worker_tool::EventSink;

use super::account::{AdmittedCall, ProviderAccount};
use super::token_estimate::estimate;

/// The wait after which the log of the job reports it.
const NOTABLE_WAIT: Duration = Duration::from_secs(1);
/// The longest pause of the provider that a call waits for. For a longer pause, the job releases its slot.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The longest pause that a call waits for if another model can answer.
const TIMEOUT_WITH_FALLBACK: Duration = Duration::from_millis(500);

/// A model whose calls respect the quota and the circuit breaker of its provider's account.
pub(crate) struct GuardedModel<'a> {
    pub(crate) inner: &'a dyn LanguageModel,
    /// `None` for the provider that needs no network.
    pub(crate) account: Option<Arc<ProviderAccount>>,
    /// Whether another model is called if this one is unreachable.
    pub(crate) has_fallback: bool,
    /// The log of the job.
    pub(crate) log: &'a dyn EventSink,
}

impl LanguageModel for GuardedModel<'_> {
    fn stream<'a>(
        &'a self,
        request: ModelRequest<'a>,
    ) -> BoxStream<'a, Result<ModelEvent, ModelError>> {
        let Some(account) = &self.account else {
            return self.inner.stream(request);
        };
        let admitted = async move {
            let call = self.admit(account, &request).await?;
            let reply = GuardedReply {
                account,
                call,
                events: self.inner.stream(request),
                has_begun: false,
            };
            Ok(stream::unfold(reply, GuardedReply::next))
        };
        stream::once(admitted).try_flatten().boxed()
    }

    fn follows_a_script(&self) -> bool {
        self.inner.follows_a_script()
    }

    fn takes_images(&self) -> bool {
        self.inner.takes_images()
    }

    fn constrains_output(&self, schema: &Value) -> bool {
        self.inner.constrains_output(schema)
    }
}

impl GuardedModel<'_> {
    /// Waits until the call may be made.
    async fn admit<'a>(
        &self,
        account: &'a ProviderAccount,
        request: &ModelRequest<'_>,
    ) -> Result<AdmittedCall<'a>, ModelError> {
        let begun_at = Instant::now();
        let patience = if self.has_fallback {
            TIMEOUT_WITH_FALLBACK
        } else {
            TIMEOUT
        };
        let mut admission = Box::pin(account.admit(estimate(request), patience));
        let admitted = match timeout(NOTABLE_WAIT, &mut admission).await {
            Ok(admitted) => admitted,
            Err(_) => {
                self.tell_wait(account).await;
                admission.await
            }
        };
        let health = &account.health;
        health.meters.waited(&health.provider, begun_at.elapsed());
        admitted
    }

    /// Reports in the job's log why the job makes no progress.
    async fn tell_wait(&self, account: &ProviderAccount) {
        let until = account.expected_wait().map(|wait| {
            let until = Utc::now() + wait;
            format!(", until about {}", until.format("%H:%M:%S UTC"))
        });
        let message = format!(
            "waiting for the quota of the provider `{}`{}",
            account.health.provider,
            until.unwrap_or_default()
        );
        let line = EventData::Log(LogLine {
            level: LogLevel::Info,
            message,
        });
        self.log.append(line).await;
    }
}

/// A reply whose outcome is reported to the account.
struct GuardedReply<'a> {
    account: &'a ProviderAccount,
    call: AdmittedCall<'a>,
    events: BoxStream<'a, Result<ModelEvent, ModelError>>,
    has_begun: bool,
}

impl GuardedReply<'_> {
    async fn next(mut self) -> Option<(Result<ModelEvent, ModelError>, Self)> {
        let event = self.events.next().await?;
        match &event {
            Ok(event) => {
                if !std::mem::replace(&mut self.has_begun, true) {
                    self.account.health.note_reply().await;
                }
                if let ModelEvent::Completed(reply) = event {
                    self.call.settle(&reply.usage);
                }
            }
            Err(error) => self.account.health.note_error(error).await,
        }
        Some((event, self))
    }
}
