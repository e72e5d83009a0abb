//! The pause and the circuit breaker of an account, which all workers share.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use shared::db::provider::AccountState;
use shared::db::{self, Pool};
use tokio::sync::Mutex as FairMutex;
use tokio::time::{Instant, sleep};
use worker_model::ModelError;

use crate::telemetry::ProviderMeters;

/// The age at which the shared state is read again before a call.
const STATE_AGE: Duration = Duration::from_secs(1);
/// The longest shared pause, because a provider's request can be wrong by years.
const MAX_PAUSE: Duration = Duration::from_secs(60 * 60);
/// The pause of a caller while another caller probes the provider, or after a failure of the database.
const PROBE_PAUSE: Duration = Duration::from_secs(1);

/// The pause and the circuit breaker of an account.
pub(crate) struct AccountHealth {
    pub(super) id: String,
    pub(crate) provider: String,
    pub(super) pool: Pool,
    pub(crate) meters: ProviderMeters,
    known: Mutex<KnownHealth>,
    /// Held while the shared state is read.
    reading: FairMutex<()>,
}

/// The health of the account as this worker knows it.
#[derive(Clone, Copy, Default)]
struct KnownHealth {
    read_at: Option<Instant>,
    paused_until: Option<Instant>,
    has_failed: bool,
    /// `None` if the circuit is closed. After this time, the circuit is half open.
    open_until: Option<Instant>,
}

impl AccountHealth {
    pub(super) fn new(id: String, provider: String, pool: Pool, meters: ProviderMeters) -> Self {
        Self {
            id,
            provider,
            pool,
            meters,
            known: Mutex::default(),
            reading: FairMutex::default(),
        }
    }

    /// Waits for the end of a pause. Fails immediately if the pause is longer than `patience` or the circuit is open.
    pub(super) async fn wait_until_asked(&self, patience: Duration) -> Result<(), ModelError> {
        loop {
            self.refresh().await;
            self.check_circuit()?;
            let pause = self.pause();
            if pause.is_zero() {
                return Ok(());
            }
            self.check_pause(patience)?;
            sleep(pause).await;
        }
    }

    /// Makes the same checks without a wait, for a call that is first in line. Returns whether there is a pause. The
    /// call becomes the probe of a half-open circuit, or fails if another call is the probe.
    pub(super) async fn begin_call(&self) -> Result<bool, ModelError> {
        self.refresh().await;
        if !self.pause().is_zero() {
            return Ok(true);
        }
        self.check_circuit()?;
        self.probe_if_half_open().await?;
        Ok(false)
    }

    /// Fails if the provider has requested a pause that is longer than `patience`.
    pub(super) fn check_pause(&self, patience: Duration) -> Result<(), ModelError> {
        let retry_after = self.pause();
        if retry_after <= patience {
            return Ok(());
        }
        Err(ModelError::Paused {
            provider: self.provider.clone(),
            retry_after,
        })
    }

    /// Returns the rest of the pause that the provider requested.
    pub(super) fn pause(&self) -> Duration {
        let until = self.known().paused_until;
        until.map_or(Duration::ZERO, |until| {
            until.saturating_duration_since(Instant::now())
        })
    }

    /// Makes the next call read the state again.
    pub(super) fn forget(&self) {
        self.known().read_at = None;
    }

    /// Records that the provider has started to reply.
    pub(crate) async fn note_reply(&self) {
        {
            let mut known = self.known();
            if !known.has_failed && known.open_until.is_none() {
                return;
            }
            known.has_failed = false;
            known.open_until = None;
        }
        self.meters.set_circuit(&self.provider, false);
        if let Err(error) = db::provider::note_reply(&self.pool, &self.id).await {
            self.warn(&error, "could not record the recovery of a provider");
        }
    }

    /// Records the error of a call.
    pub(crate) async fn note_error(&self, error: &ModelError) {
        match error {
            ModelError::RateLimited { retry_after } => self.note_pause(*retry_after).await,
            error if error.is_outage() => self.note_failure().await,
            // The provider answered, even if only with a refusal.
            _ => self.note_reply().await,
        }
    }

    async fn note_pause(&self, retry_after: Option<Duration>) {
        let Some(pause) = retry_after.map(|pause| pause.min(MAX_PAUSE)) else {
            return;
        };
        {
            let until = Instant::now() + pause;
            let mut known = self.known();
            known.paused_until = known.paused_until.max(Some(until));
        }
        if let Err(error) = db::provider::pause(&self.pool, &self.id, pause).await {
            self.warn(&error, "could not record the pause of a provider");
        }
    }

    async fn note_failure(&self) {
        if let Err(error) = db::provider::note_failure(&self.pool, &self.id).await {
            self.warn(&error, "could not record an outage of a provider");
        }
        let mut known = self.known();
        known.has_failed = true;
        known.read_at = None;
    }

    /// Reads the shared state, unless it was read recently.
    pub(super) async fn refresh(&self) {
        let _turn = self.reading.lock().await;
        let read_at = self.known().read_at;
        if read_at.is_some_and(|at| at.elapsed() < STATE_AGE) {
            return;
        }
        match db::provider::get_or_insert_state(&self.pool, &self.id, &self.provider).await {
            Ok(state) => self.learn(state),
            // The previous state is better than none.
            Err(error) => self.warn(&error, "the state of a provider could not be read"),
        }
    }

    fn learn(&self, state: AccountState) {
        let now = Instant::now();
        let mut known = self.known();
        *known = KnownHealth {
            read_at: Some(now),
            paused_until: (!state.paused_for.is_zero()).then(|| now + state.paused_for),
            has_failed: state.failures > 0,
            open_until: state.open_for.map(|open_for| now + open_for),
        };
        let is_open = known.open_until.is_some();
        self.meters.set_circuit(&self.provider, is_open);
    }

    /// Fails if the circuit is open.
    fn check_circuit(&self) -> Result<(), ModelError> {
        let until = self.known().open_until;
        let rest = until.map(|until| until.saturating_duration_since(Instant::now()));
        match rest.filter(|rest| !rest.is_zero()) {
            Some(rest) => Err(self.circuit_open(rest)),
            None => Ok(()),
        }
    }

    /// Makes this call the probe of a half-open circuit. Fails if another call is the probe.
    async fn probe_if_half_open(&self) -> Result<(), ModelError> {
        if self.known().open_until.is_none() {
            return Ok(());
        }
        match db::provider::begin_probe(&self.pool, &self.id).await {
            Ok(true) => return Ok(()),
            // The circuit may be closed, or open again, by now.
            Ok(false) => self.forget(),
            Err(error) => self.warn(&error, "could not start a probe of a provider"),
        }
        Err(self.circuit_open(PROBE_PAUSE))
    }

    fn circuit_open(&self, retry_after: Duration) -> ModelError {
        ModelError::CircuitOpen {
            provider: self.provider.clone(),
            retry_after,
        }
    }

    pub(super) fn warn(&self, error: &db::Error, message: &'static str) {
        let error = error as &dyn std::error::Error;
        tracing::warn!(provider = self.provider, error, "{message}");
    }

    fn known(&self) -> MutexGuard<'_, KnownHealth> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
