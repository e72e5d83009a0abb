//! Metrics of a worker. Labels have few values: no job, no tenant, and nothing that a client chose.

use std::time::Duration;

use chrono::{DateTime, Utc};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use shared::db::claim::Claim;
use shared::db::log::RunTransition;
use shared::event::{RetryCause, ToolOutcome};
use shared::job::{Job, LoopStop, Outcome};
use shared::telemetry::metrics::{Durations, Labels, Metrics, long, short, sizes};

use super::model_call::ModelMeters;
use super::provider_meters::ProviderMeters;

/// The metrics of a worker.
pub(crate) struct WorkerMeters {
    metrics: Metrics,
    claims: Histogram,
    claimed: Counter,
    queued: Histogram,
    retried: Family<Labels<1>, Counter>,
    refused: Family<Labels<1>, Counter>,
    tool_calls: Family<Labels<2>, Counter>,
    tool_durations: Durations<Labels<1>>,
    pub(crate) models: ModelMeters,
    pub(crate) providers: ProviderMeters,
    pub(crate) log: LogMeters,
    slots: Gauge,
    slots_used: Gauge,
}

/// The metrics of the log writer.
#[derive(Clone)]
pub(crate) struct LogMeters {
    metrics: Metrics,
    writes: Histogram,
    events: Histogram,
    jobs: Histogram,
}

/// The state of a job after an attempt.
#[derive(Clone, Copy)]
pub(crate) enum Close {
    Ended { outcome: Outcome, at: DateTime<Utc> },
    Retried(RetryCause),
    Waits,
}

impl From<&RunTransition> for Close {
    fn from(next: &RunTransition) -> Self {
        match *next {
            RunTransition::Finish { outcome, at, .. } => Self::Ended { outcome, at },
            RunTransition::Requeue { cause, .. } => Self::Retried(cause),
            RunTransition::Continue | RunTransition::Wait | RunTransition::Resume => Self::Waits,
        }
    }
}

impl WorkerMeters {
    /// Creates the meters in the given metrics.
    pub(crate) fn new(metrics: &Metrics) -> Self {
        Self {
            claims: metrics.seconds(
                "claim_duration",
                "Claims, including those that found no job",
                short(),
            ),
            claimed: metrics.add("attempts", "Attempts started", Counter::default()),
            queued: metrics.seconds(
                "job_queue_duration",
                "Time from when a job could start to its first attempt",
                long(),
            ),
            retried: metrics.add(
                "attempts_retried",
                "Attempts that ended before their job did, by cause",
                Family::default(),
            ),
            refused: metrics.add(
                "budget_refusals",
                "Model calls not made because of a budget, by limit",
                Family::default(),
            ),
            tool_calls: metrics.add(
                "tool_calls",
                "Tool calls, by tool and outcome",
                Family::default(),
            ),
            tool_durations: metrics.seconds(
                "tool_call_duration",
                "Tool calls, by tool",
                Family::new_with_constructor(long as fn() -> Histogram),
            ),
            models: ModelMeters::new(metrics),
            providers: ProviderMeters::new(metrics),
            log: LogMeters::new(metrics),
            slots: metrics.add(
                "worker_slots",
                "Jobs that the worker may run at once",
                Gauge::default(),
            ),
            slots_used: metrics.add(
                "worker_slots_used",
                "Jobs that the worker runs",
                Gauge::default(),
            ),
            metrics: metrics.clone(),
        }
    }

    /// Records the number of used slots.
    pub(crate) fn occupied(&self, used: usize, slots: i32) {
        self.slots.set(slots.into());
        self.slots_used.set(used as i64);
    }

    /// Records a claim.
    pub(crate) fn claimed(&self, took: Duration, claims: &[Claim]) {
        self.claims.observe(took.as_secs_f64());
        self.claimed.inc_by(claims.len() as u64);
        for first in claims.iter().flatten().filter(|it| it.job.attempt == 1) {
            let waited = first.claimed_at - first.due_at;
            self.queued.observe(waited.as_seconds_f64().max(0.0));
        }
    }

    /// Records the end of an attempt.
    pub(crate) fn closed(&self, job: &Job, close: Close) {
        match close {
            Close::Ended { outcome, at } => self.metrics.job_ended(job, outcome, at),
            Close::Retried(cause) => {
                let cause = [("cause", cause.as_str())];
                self.retried.get_or_create(&cause).inc();
            }
            Close::Waits => {}
        }
    }

    /// Records a model call that was not made because of a limit.
    pub(crate) fn refused(&self, limit: LoopStop) {
        let limit = [("limit", limit.as_str())];
        self.refused.get_or_create(&limit).inc();
    }

    /// Records a tool call.
    pub(crate) fn called(&self, tool: &'static str, outcome: ToolOutcome, took: Duration) {
        let call = [("tool", tool), ("outcome", outcome.as_str())];
        self.tool_calls.get_or_create(&call).inc();
        let durations = self.tool_durations.get_or_create(&[("tool", tool)]);
        durations.observe(took.as_secs_f64());
    }
}

impl LogMeters {
    fn new(metrics: &Metrics) -> Self {
        Self {
            writes: metrics.seconds(
                "log_write_duration",
                "Log writes, each for many jobs",
                short(),
            ),
            events: metrics.add("log_write_events", "Events in one write", sizes()),
            jobs: metrics.add("log_write_jobs", "Jobs in one write", sizes()),
            metrics: metrics.clone(),
        }
    }

    /// Records a job that failed because its entries cannot be written.
    pub(crate) fn failed(&self, job: &Job, at: DateTime<Utc>) {
        self.metrics.job_ended(job, Outcome::Failed, at);
    }

    /// Records the write of a batch.
    pub(crate) fn wrote(&self, took: Duration, jobs: usize, events: usize) {
        self.writes.observe(took.as_secs_f64());
        self.jobs.observe(jobs as f64);
        self.events.observe(events as f64);
    }
}
