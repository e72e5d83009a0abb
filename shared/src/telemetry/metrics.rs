//! Metrics in the text formats of Prometheus.

mod plain;
mod process;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry, Unit};

use crate::db::Pool;
use crate::job::{Job, Outcome, Status};
use process::ProcessCollector;

/// A text format for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// The Prometheus text format 0.0.4, which every scraper supports.
    Plain,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

impl TextFormat {
    /// The media type.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Plain => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The maximum number of values of a label that clients choose. Further values become [`OTHER`].
const MAX_VALUES: usize = 100;

/// The label value for values beyond the limit.
const OTHER: &str = "other";

/// Labels with values that are fixed in the code.
pub type Labels<const N: usize> = [(&'static str, &'static str); N];

/// Histograms of durations, by label.
pub type Durations<L> = Family<L, Histogram, fn() -> Histogram>;

/// The metrics of this process. Clones share them.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Mutex<Registry>>,
    /// Metrics whose names have no prefix.
    process: Arc<Registry>,
    pools: Arc<Mutex<Vec<(&'static str, Pool)>>>,
    connections: Family<Labels<2>, Gauge>,
    ended: Family<EndedLabels, Counter>,
    durations: Durations<Labels<1>>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct EndedLabels {
    skill: String,
    outcome: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut process = Registry::default();
        process.register_collector(Box::new(ProcessCollector));
        let metrics = Self {
            process: Arc::new(process),
            registry: Arc::new(Mutex::new(Registry::with_prefix("skillet"))),
            pools: Arc::default(),
            connections: Family::default(),
            ended: Family::default(),
            durations: Family::new_with_constructor(long),
        };
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        lock(&metrics.registry).register("build", "The version of the program", version);
        let connections = metrics.connections.clone();
        metrics.add(
            "database_connections",
            "Connections to the database",
            connections,
        );
        let ended = metrics.ended.clone();
        metrics.add(
            "jobs_ended",
            "Jobs that have ended, by skill and outcome",
            ended,
        );
        let durations = metrics.durations.clone();
        metrics.seconds(
            "job_duration",
            "From the start of the first attempt to the end, by outcome",
            durations,
        );
        metrics
    }
}

impl Metrics {
    /// Registers a metric and returns it. Its name gets the prefix `skillet_`, and counters get the suffix `_total`.
    pub fn add<M: Metric + Clone>(&self, name: &str, help: &str, metric: M) -> M {
        lock(&self.registry).register(name, help, metric.clone());
        metric
    }

    /// Registers a metric of durations. Its name gets the suffix `_seconds`.
    pub fn seconds<M: Metric + Clone>(&self, name: &str, help: &str, metric: M) -> M {
        lock(&self.registry).register_with_unit(name, help, Unit::Seconds, metric.clone());
        metric
    }

    /// Registers a collector, which computes its metrics at each scrape.
    pub fn collect(&self, collector: impl Collector) {
        lock(&self.registry).register_collector(Box::new(collector));
    }

    /// Adds the connections of a pool to the metrics. `part` is the part of this process that uses the pool.
    pub fn watch(&self, part: &'static str, pool: &Pool) {
        lock(&self.pools).push((part, pool.clone()));
    }

    /// Counts the end of a job. Jobs of agents share one label value, and so do jobs of uploaded skills, because
    /// tenants choose these names.
    pub fn job_ended(&self, job: &Job, outcome: Outcome, at: DateTime<Utc>) {
        let skill = match (&job.skill, job.skill_version) {
            (Some(_), Some(_)) => "(uploaded)",
            (Some(name), None) => name,
            (None, _) => "(agent)",
        };
        let ended = EndedLabels {
            skill: skill.to_owned(),
            outcome: Status::from(outcome).as_str(),
        };
        self.ended.get_or_create(&ended).inc();
        if let Some(started_at) = job.started_at {
            let took = (at - started_at).as_seconds_f64().max(0.0);
            let outcome = [("outcome", ended.outcome)];
            self.durations.get_or_create(&outcome).observe(took);
        }
    }

    /// Renders all metrics as text.
    pub fn render(&self, format: TextFormat) -> String {
        for (part, pool) in &*lock(&self.pools) {
            let (all, idle) = (i64::from(pool.size()), pool.num_idle() as i64);
            for (state, count) in [("idle", idle), ("used", all - idle)] {
                let labels = [("part", *part), ("state", state)];
                self.connections.get_or_create(&labels).set(count.max(0));
            }
        }
        let mut text = String::new();
        let encoded = encode_registry(&mut text, &self.process);
        let encoded = encoded.and_then(|()| encode(&mut text, &lock(&self.registry)));
        encoded.expect("a string takes all");
        match format {
            TextFormat::Plain => plain::from_open_metrics(&text),
            TextFormat::OpenMetrics => text,
        }
    }
}

/// Creates a histogram with buckets from 0.1 ms to 1 minute, for database statements and requests.
pub fn short() -> Histogram {
    Histogram::new([
        0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
        10.0, 60.0,
    ])
}

/// Creates a histogram with buckets from 10 ms to 1 hour, for model calls and jobs.
pub fn long() -> Histogram {
    Histogram::new([
        0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0,
        3600.0,
    ])
}

/// Creates a histogram with buckets from 1 to 5,000, for counts.
pub fn sizes() -> Histogram {
    Histogram::new([
        1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 5000.0,
    ])
}

/// The values of a label that clients choose. Only the first values are kept, so clients cannot exhaust the memory.
#[derive(Clone, Default)]
pub struct Bounded {
    known: Arc<Mutex<HashSet<String>>>,
}

impl Bounded {
    /// Returns the value, or `other` if the limit is reached.
    pub fn admit(&self, value: &str) -> String {
        let mut known = lock(&self.known);
        if !known.contains(value) {
            if known.len() >= MAX_VALUES {
                return OTHER.to_owned();
            }
            known.insert(value.to_owned());
        }
        value.to_owned()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_cannot_make_more_values_of_a_label_than_there_may_be() {
        let models = Bounded::default();
        for number in 0..2 * MAX_VALUES {
            models.admit(&number.to_string());
        }
        assert_eq!(models.admit("7"), "7");
        assert_eq!(models.admit("150"), OTHER);
        assert_eq!(lock(&models.known).len(), MAX_VALUES);
    }
}
