//! Webhook metrics.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use shared::db::webhook_delivery::DeliveryOutcome;
use shared::telemetry::metrics::{Labels, Metrics, long, short};
use shared::webhook::DisabledReason;

/// The meters of a dispatcher.
#[derive(Clone)]
pub(super) struct WebhookMeters {
    created: Counter,
    attempts: Family<Labels<1>, Counter>,
    durations: Histogram,
    delays: Histogram,
    in_flight: Gauge,
    disabled: Family<Labels<1>, Counter>,
}

impl WebhookMeters {
    pub(super) fn new(metrics: &Metrics) -> Self {
        Self {
            created: metrics.add(
                "webhook_deliveries",
                "Deliveries that were created for webhooks",
                Counter::default(),
            ),
            attempts: metrics.add(
                "webhook_attempts",
                "Delivery attempts, by outcome: delivered, retry or dead",
                Family::default(),
            ),
            durations: metrics.seconds(
                "webhook_attempt_duration",
                "Time from the start of an attempt to the answer of the receiver",
                short(),
            ),
            delays: metrics.seconds(
                "webhook_delivery_delay",
                "Time from the write of an event to its acceptance by the receiver",
                long(),
            ),
            in_flight: metrics.add(
                "webhook_attempts_in_flight",
                "Delivery attempts in flight",
                Gauge::default(),
            ),
            disabled: metrics.add(
                "webhooks_disabled",
                "Webhooks that were disabled, by reason: gone or failing",
                Family::default(),
            ),
        }
    }

    /// Counts deliveries that events created.
    pub(super) fn created(&self, count: usize) {
        self.created.inc_by(count as u64);
    }

    /// Sets the number of attempts in flight.
    pub(super) fn in_flight(&self, count: usize) {
        self.in_flight.set(count as i64);
    }

    /// Counts an ended attempt. `delay` is the time since its event.
    pub(super) fn ended(&self, outcome: DeliveryOutcome, took: Duration, delay: Duration) {
        let name = match outcome {
            DeliveryOutcome::Delivered => "delivered",
            DeliveryOutcome::Retry(_) => "retry",
            DeliveryOutcome::Dead => "dead",
        };
        self.attempts.get_or_create(&[("outcome", name)]).inc();
        self.durations.observe(took.as_secs_f64());
        if outcome == DeliveryOutcome::Delivered {
            self.delays.observe(delay.as_secs_f64());
        }
    }

    /// Counts a disabled webhook.
    pub(super) fn disabled(&self, reason: DisabledReason) {
        let name = match reason {
            DisabledReason::Gone => "gone",
            DisabledReason::Failing => "failing",
        };
        self.disabled.get_or_create(&[("reason", name)]).inc();
    }
}
