//! The adapter, with the state that all of its tasks share.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use skillet_client::Client;
use skillet_client::types::id::JobId;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use crate::bot::Bot;
use crate::error::TelegramError;
use crate::outbox::Outbox;
use crate::settings::TelegramSettings;

/// The maximum number of jobs that are followed at once. Others wait.
const MAX_FOLLOWED: usize = 500;
/// The maximum number of answers that wait to be sent. Further answers are dropped.
const MAX_QUEUED_ANSWERS: usize = 500;

/// The adapter between a bot and a service. Clones share their state.
#[derive(Clone)]
pub(crate) struct Adapter {
    pub(crate) client: Client,
    pub(crate) bot: Bot,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) settings: Arc<TelegramSettings>,
    /// The name of the bot, without `@`.
    pub(crate) username: String,
    pub(crate) stop: CancellationToken,
    /// Permits to follow a job.
    pub(crate) places: Arc<Semaphore>,
    /// Permits to queue an answer.
    pub(crate) queued_answers: Arc<Semaphore>,
    /// The tasks that follow jobs and send queued answers.
    pub(crate) tasks: TaskTracker,
    followed: Arc<Mutex<HashSet<JobId>>>,
}

impl Adapter {
    pub(crate) fn new(
        client: Client,
        bot: Bot,
        settings: Arc<TelegramSettings>,
        username: String,
        stop: CancellationToken,
    ) -> Self {
        Self {
            client,
            outbox: Arc::new(Outbox::new(bot.clone(), stop.clone())),
            bot,
            settings,
            username,
            stop,
            followed: Arc::default(),
            places: Arc::new(Semaphore::new(MAX_FOLLOWED)),
            queued_answers: Arc::new(Semaphore::new(MAX_QUEUED_ANSWERS)),
            tasks: TaskTracker::new(),
        }
    }

    /// Waits until every task has reached a safe point, after the adapter was told to stop.
    pub(crate) async fn close(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// The jobs that are followed.
    pub(crate) fn followed(&self) -> std::sync::MutexGuard<'_, HashSet<JobId>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the URL of a job's page in the console.
    pub(crate) fn job_url(&self, job: JobId) -> String {
        format!("{}/console/jobs/{job}", self.settings.link_url)
    }

    /// Logs an error after which the adapter continues.
    pub(crate) fn warn(&self, error: &TelegramError, what: &str) {
        warn!(%error, "{what}");
    }
}
