//! Metrics and spans of model calls. A call lasts from the first try to the whole reply.

use std::sync::atomic::AtomicU64;
use std::time::Instant;

use opentelemetry::{Array, StringValue, Value};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use shared::message::AssistantMessage;
use shared::model_name::ModelName;
use shared::telemetry::metrics::{Bounded, Durations, Metrics, long};
use shared::telemetry::trace::Span;

use worker_model::ModelError;

/// Metrics of model calls.
pub(crate) struct ModelMeters {
    /// The models whose names are labels. Their number is bounded, because clients can make names up.
    names: Bounded,
    calls: Family<CallLabels, Counter>,
    durations: Durations<ModelLabels>,
    tokens: Family<TokenLabels, Counter>,
    dollars: Family<ModelLabels, Counter<f64, AtomicU64>>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ModelLabels {
    provider: String,
    model: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CallLabels {
    #[prometheus(flatten)]
    model: ModelLabels,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct TokenLabels {
    #[prometheus(flatten)]
    model: ModelLabels,
    kind: &'static str,
}

impl ModelMeters {
    pub(super) fn new(metrics: &Metrics) -> Self {
        Self {
            names: Bounded::default(),
            calls: metrics.add(
                "model_calls",
                "Requests to models, each try one, by outcome",
                Family::default(),
            ),
            durations: metrics.seconds(
                "model_call_duration",
                "From a question to the whole reply, with all tries and the waits between them",
                Family::new_with_constructor(long as fn() -> Histogram),
            ),
            tokens: metrics.add(
                "model_tokens",
                "Tokens of whole replies, by kind; cached ones are among the input",
                Family::default(),
            ),
            dollars: metrics.add(
                "model_cost_dollars",
                "What whole replies cost, where prices are known",
                Family::default(),
            ),
        }
    }
}

/// A running model call.
pub(crate) struct ModelCall<'a> {
    meters: &'a ModelMeters,
    model: ModelLabels,
    span: Span,
    begun_at: Instant,
}

impl<'a> ModelCall<'a> {
    /// Begins a call of the model for a reply of at most so many tokens.
    pub(crate) fn begin(
        attempt: &Span,
        meters: &'a ModelMeters,
        name: &ModelName,
        max_tokens: u32,
    ) -> Self {
        let span = attempt.call(|| format!("chat {}", name.id()));
        span.set("gen_ai.operation.name", || "chat");
        span.set("gen_ai.provider.name", || name.provider().to_owned());
        span.set("gen_ai.request.model", || name.id().to_owned());
        span.set("gen_ai.request.max_tokens", || i64::from(max_tokens));
        Self {
            meters,
            model: ModelLabels {
                provider: name.provider().to_owned(),
                model: meters.names.admit(name.id()),
            },
            span,
            begun_at: Instant::now(),
        }
    }

    /// A try failed.
    pub(crate) fn failed(&self, error: &ModelError, is_last: bool) {
        self.count(error.kind());
        if is_last {
            self.span.fail(error.kind());
        } else {
            self.span.note("try failed", error.kind());
        }
    }

    /// The reply is there, with what it cost.
    pub(crate) fn replied(&self, reply: &AssistantMessage) {
        self.count("ok");
        let durations = self.meters.durations.get_or_create(&self.model);
        durations.observe(self.begun_at.elapsed().as_secs_f64());
        drop(durations);
        let used = &reply.usage;
        let kinds = [
            ("input", used.input_tokens),
            ("output", used.output_tokens),
            ("cache_read", used.cache_read_tokens),
            ("cache_write", used.cache_write_tokens),
        ];
        for (kind, tokens) in kinds {
            let model = self.model.clone();
            let labels = TokenLabels { model, kind };
            self.meters.tokens.get_or_create(&labels).inc_by(tokens);
        }
        if let Some(cost) = used.cost_usd {
            let dollars = self.meters.dollars.get_or_create(&self.model);
            dollars.inc_by(cost.to_f64());
        }
        self.describe(reply);
    }

    fn describe(&self, reply: &AssistantMessage) {
        let (span, used) = (&self.span, &reply.usage);
        span.set("gen_ai.response.finish_reasons", || {
            let reason = StringValue::from(reply.stop_reason.as_str());
            Value::Array(Array::String(vec![reason]))
        });
        let counts = [
            ("gen_ai.usage.input_tokens", used.input_tokens),
            ("gen_ai.usage.output_tokens", used.output_tokens),
            (
                "gen_ai.usage.cache_read.input_tokens",
                used.cache_read_tokens,
            ),
            (
                "gen_ai.usage.cache_creation.input_tokens",
                used.cache_write_tokens,
            ),
        ];
        for (key, tokens) in counts {
            span.set(key, || i64::try_from(tokens).unwrap_or(i64::MAX));
        }
        if let Some(cost) = used.cost_usd {
            span.set("skillet.cost_usd", || cost.to_f64());
        }
    }

    fn count(&self, outcome: &'static str) {
        let model = self.model.clone();
        let labels = CallLabels { model, outcome };
        self.meters.calls.get_or_create(&labels).inc();
    }
}
