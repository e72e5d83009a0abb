//! The delivery loop: claims due deliveries, attempts them concurrently, and stores the results together.

use std::sync::Arc;
use std::time::Duration;

use shared::db::webhook_delivery::{
    self as delivery, ClaimedDelivery, DeliveryOutcome, EndedAttempt,
};
use shared::db::{self, DedicatedConnection, Pool};
use shared::id::WebhookId;
use shared::secret::MasterKeys;
use shared::webhook::{self, DisabledReason};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::content;
use super::meters::WebhookMeters;
use super::send::{self, ReceiverAnswer, SignedRequest};
use super::sign::{Signers, with_signers};
use crate::webhook_target::WebhookClients;

/// The maximum number of concurrent attempts in one process.
const MAX_IN_FLIGHT: usize = 64;
/// The longest delay before a due delivery is noticed if its notification is lost.
const SCAN_INTERVAL: Duration = Duration::from_secs(5);
/// The minimum pause between claims. It applies while another process claims the due deliveries.
const BUSY_PAUSE: Duration = Duration::from_millis(10);
/// The pause after a database error.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// Sends due deliveries.
pub(super) struct Deliverer {
    sender: Arc<Sender>,
    keys: MasterKeys,
    db: DedicatedConnection,
    attempts: JoinSet<EndedDelivery>,
    /// Results that are not stored yet.
    ended: Vec<EndedDelivery>,
}

/// State shared by all attempts.
struct Sender {
    pool: Pool,
    clients: WebhookClients,
    meters: WebhookMeters,
}

/// The result of an attempt.
struct EndedDelivery {
    attempt: EndedAttempt,
    is_gone: bool,
}

impl Deliverer {
    pub(super) fn new(
        pool: Pool,
        keys: MasterKeys,
        clients: WebhookClients,
        meters: WebhookMeters,
    ) -> Self {
        Self {
            db: DedicatedConnection::of(&pool),
            sender: Arc::new(Sender {
                pool,
                clients,
                meters,
            }),
            keys,
            attempts: JoinSet::new(),
            ended: Vec::new(),
        }
    }

    /// Sends deliveries until `shutdown` is cancelled and all attempts have ended.
    pub(super) async fn run(mut self, woken: &Notify, shutdown: &CancellationToken) {
        loop {
            let is_ending = shutdown.is_cancelled();
            let wait = match self.step(!is_ending).await {
                Ok(wait) => wait,
                Err(error) => {
                    self.db.reset();
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "cannot deliver webhooks; trying again"
                    );
                    tokio::time::sleep(RETRY_PAUSE).await;
                    Duration::ZERO
                }
            };
            if is_ending && self.attempts.is_empty() && self.ended.is_empty() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = woken.notified() => {}
                Some(Ok(ended)) = self.attempts.join_next() => self.ended.push(ended),
                () = shutdown.cancelled(), if !is_ending => {}
            }
        }
    }

    /// Stores the results of ended attempts and starts due deliveries. Returns the wait before the next step, which
    /// also begins when an attempt ends.
    async fn step(&mut self, begins: bool) -> db::Result<Duration> {
        while let Some(ended) = self.attempts.try_join_next() {
            // An attempt that panicked is repeated when its claim expires.
            self.ended.extend(ended.ok());
        }
        self.store().await?;
        let free = MAX_IN_FLIGHT - self.attempts.len();
        if !begins || free == 0 {
            return Ok(SCAN_INTERVAL);
        }
        let claimed = delivery::claim(self.db.get().await?, free as i64).await?;
        let has_more = claimed.len() == free;
        self.begin(claimed).await?;
        if has_more {
            return Ok(Duration::ZERO);
        }
        let next = delivery::next_due(self.db.get().await?).await?;
        let next = next.map_or(SCAN_INTERVAL, |seconds| {
            Duration::from_secs_f64(seconds.clamp(0.0, SCAN_INTERVAL.as_secs_f64()))
        });
        Ok(next.max(BUSY_PAUSE))
    }

    /// Starts the attempts of claimed deliveries.
    async fn begin(&mut self, claimed: Vec<ClaimedDelivery>) -> db::Result<()> {
        if claimed.is_empty() {
            return Ok(());
        }
        let sender = &self.sender;
        let signed = with_signers(&mut self.db, &sender.pool, &self.keys, claimed).await?;
        for (delivery, signers) in signed {
            let sender = sender.clone();
            let attempt = async move { sender.attempt(delivery, signers).await };
            self.attempts.spawn(attempt);
        }
        sender.meters.in_flight(self.attempts.len());
        Ok(())
    }

    /// Stores the results of attempts. If that fails, the results are kept for the next step.
    async fn store(&mut self) -> db::Result<()> {
        if self.ended.is_empty() {
            return Ok(());
        }
        let Sender { pool, meters, .. } = &*self.sender;
        meters.in_flight(self.attempts.len());
        let ended = self.ended.iter().map(|it| &it.attempt);
        let failing = delivery::finish(self.db.get().await?, ended).await?;
        let ended = std::mem::take(&mut self.ended);
        let gone = ended.iter().filter(|it| it.is_gone);
        for webhook in gone.map(|it| it.attempt.webhook) {
            disable(pool, meters, webhook, DisabledReason::Gone).await?;
        }
        for webhook in failing {
            disable(pool, meters, webhook, DisabledReason::Failing).await?;
        }
        Ok(())
    }
}

async fn disable(
    pool: &Pool,
    meters: &WebhookMeters,
    webhook: WebhookId,
    reason: DisabledReason,
) -> db::Result<()> {
    let mut transaction = pool.begin().await?;
    let is_new = db::webhook::disable(&mut transaction, webhook, reason).await?;
    transaction.commit().await?;
    if is_new {
        meters.disabled(reason);
        tracing::warn!(%webhook, ?reason, "a webhook was disabled");
    }
    Ok(())
}

impl Sender {
    async fn attempt(&self, delivery: ClaimedDelivery, signers: Signers) -> EndedDelivery {
        let answer = self.send(&delivery, signers).await;
        let is_test = delivery.event.is_none();
        let outcome = outcome(&answer, &delivery);
        let delay = (shared::clock::now() - delivery.at).to_std();
        self.meters
            .ended(outcome, answer.took, delay.unwrap_or_default());
        EndedDelivery {
            is_gone: answer.is_gone() && !is_test,
            attempt: EndedAttempt {
                delivery: delivery.id,
                claim: delivery.claim,
                webhook: delivery.webhook,
                is_test,
                outcome,
                status: answer.status,
                took: answer.took,
                error: answer.error,
                response: answer.response,
            },
        }
    }

    async fn send(&self, delivery: &ClaimedDelivery, signers: Signers) -> ReceiverAnswer {
        let secrets = match signers {
            Ok(secrets) => secrets,
            Err(error) => return ReceiverAnswer::failed(error),
        };
        let body = match content::render(&self.pool, delivery).await {
            Ok(body) => body,
            Err(error) => {
                return ReceiverAnswer::failed(format!("the job cannot be read: {error}"));
            }
        };
        let id = match &delivery.event {
            Some(event) => webhook::event_id(event.job_id, event.seq),
            None => webhook::test_id(delivery.id),
        };
        let request = SignedRequest {
            url: &delivery.url,
            id: &id,
            body,
            secrets: &secrets,
        };
        send::send(&self.clients, request).await
    }
}

/// Determines the outcome of an attempt from the receiver's answer. A test delivery has one attempt.
fn outcome(answer: &ReceiverAnswer, delivery: &ClaimedDelivery) -> DeliveryOutcome {
    if answer.is_accepted() {
        return DeliveryOutcome::Delivered;
    }
    if answer.is_refused || answer.is_gone() || delivery.event.is_none() {
        return DeliveryOutcome::Dead;
    }
    let pause = answer
        .failure()
        .pause(delivery.attempts + 1, rand::random::<f64>());
    pause.map_or(DeliveryOutcome::Dead, DeliveryOutcome::Retry)
}
