//! Metrics of provider accounts. The operator names the providers, so there are few.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use shared::telemetry::metrics::{Durations, Metrics, long};

/// Metrics of provider accounts.
#[derive(Clone)]
pub(crate) struct ProviderMeters {
    waits: Durations<ProviderLabels>,
    leases: Family<ProviderLabels, Counter>,
    circuits: Family<ProviderLabels, Gauge>,
    fallbacks: Family<FallbackLabels, Counter>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ProviderLabels {
    provider: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct FallbackLabels {
    from: String,
    to: String,
}

impl ProviderMeters {
    pub(super) fn new(metrics: &Metrics) -> Self {
        Self {
            waits: metrics.seconds(
                "provider_quota_wait",
                "Time that model calls waited for the quota of their provider",
                Family::new_with_constructor(long as fn() -> Histogram),
            ),
            leases: metrics.add(
                "provider_quota_leases",
                "Statements that leased quota of a provider account",
                Family::default(),
            ),
            circuits: metrics.add(
                "provider_circuit_open",
                "Whether the circuit breaker of a provider is open or half open, as this worker knows",
                Family::default(),
            ),
            fallbacks: metrics.add(
                "model_fallbacks",
                "Model calls that another provider took over",
                Family::default(),
            ),
        }
    }

    /// Records the time that a call waited for quota.
    pub(crate) fn waited(&self, provider: &str, wait: Duration) {
        let waits = self.waits.get_or_create(&labels(provider));
        waits.observe(wait.as_secs_f64());
    }

    /// Records a lease of quota.
    pub(crate) fn leased(&self, provider: &str) {
        self.leases.get_or_create(&labels(provider)).inc();
    }

    /// Sets the state of a circuit breaker.
    pub(crate) fn set_circuit(&self, provider: &str, is_open: bool) {
        let circuit = self.circuits.get_or_create(&labels(provider));
        circuit.set(is_open.into());
    }

    /// Records a fallback to a model of another provider.
    pub(crate) fn fell_back(&self, from: &str, to: &str) {
        let labels = FallbackLabels {
            from: from.to_owned(),
            to: to.to_owned(),
        };
        self.fallbacks.get_or_create(&labels).inc();
    }
}

fn labels(provider: &str) -> ProviderLabels {
    ProviderLabels {
        provider: provider.to_owned(),
    }
}
