//! Metrics and spans of model calls. A call lasts from the first try to the complete reply.

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
    /// The models whose names are labels. Their number is limited, because clients can invent names.
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
                "Requests to models, counting each try, by outcome",
                Family::default(),
            ),
            durations: metrics.seconds(
                "model_call_duration",
                "Time from a request to its complete reply, including retries and the waits between them",
                Family::new_with_constructor(long as fn() -> Histogram),
            ),
            tokens: metrics.add(
                "model_tokens",
                "Tokens of complete replies, by kind; input includes cached tokens",
                Family::default(),
            ),
            dollars: metrics.add(
                "model_cost_dollars",
                "Cost of complete replies, where prices are known",
                Family::default(),
            ),
        }
    }
}

/// A model that may answer.
#[derive(Clone, Copy)]
pub(crate) struct CalledModel<'a> {
    pub(crate) name: &'a ModelName,
    /// The host and the port of its provider.
    pub(crate) server: Option<&'a (String, Option<u16>)>,
}

impl CalledModel<'_> {
    /// Whether the model has this name.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.to_string() == name
    }

    fn describe(&self, span: &Span) {
        span.set("gen_ai.provider.name", || self.name.provider().to_owned());
        if let Some((host, port)) = self.server {
            span.set("server.address", || host.clone());
            if let Some(port) = port {
                span.set("server.port", || i64::from(*port));
            }
        }
    }
}

/// A running model call.
pub(crate) struct ModelCall<'a> {
    meters: &'a ModelMeters,
    models: &'a [CalledModel<'a>],
    span: Span,
    begun_at: Instant,
}

impl<'a> ModelCall<'a> {
    /// Starts a call of the first of these models, for a reply of at most `max_tokens` tokens.
    /// The others are fallbacks.
    pub(crate) fn begin(
        attempt: &Span,
        meters: &'a ModelMeters,
        models: &'a [CalledModel<'a>],
        max_tokens: u32,
    ) -> Self {
        let name = models[0].name;
        let span = attempt.call(|| format!("chat {}", name.id()));
        span.set("gen_ai.operation.name", || "chat");
        models[0].describe(&span);
        span.set("gen_ai.request.model", || name.id().to_owned());
        span.set("gen_ai.request.max_tokens", || i64::from(max_tokens));
        Self {
            meters,
            models,
            span,
            begun_at: Instant::now(),
        }
    }

    /// Records a failed try of one of the models.
    pub(crate) fn failed(&self, model: usize, error: &ModelError, is_last: bool) {
        self.count(&self.labels(&self.models[model]), error.kind());
        if is_last {
            self.span.fail(error.kind());
        } else {
            self.span.note("try failed", error.kind());
        }
    }

    /// Records the complete reply, with its cost.
    pub(crate) fn replied(&self, reply: &AssistantMessage) {
        let mut models = self.models.iter();
        let model = models.find(|model| model.is(&reply.model));
        let model = model.unwrap_or(&self.models[0]);
        let labels = self.labels(model);
        self.count(&labels, "ok");
        let durations = self.meters.durations.get_or_create(&labels);
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
            let model = labels.clone();
            let labels = TokenLabels { model, kind };
            self.meters.tokens.get_or_create(&labels).inc_by(tokens);
        }
        if let Some(cost) = used.cost_usd {
            let dollars = self.meters.dollars.get_or_create(&labels);
            dollars.inc_by(cost.to_f64());
        }
        model.describe(&self.span);
        self.span
            .set("gen_ai.response.model", || model.name.id().to_owned());
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

    fn labels(&self, model: &CalledModel<'_>) -> ModelLabels {
        ModelLabels {
            provider: model.name.provider().to_owned(),
            model: self.meters.names.admit(model.name.id()),
        }
    }

    fn count(&self, model: &ModelLabels, outcome: &'static str) {
        let model = model.clone();
        let labels = CallLabels { model, outcome };
        self.meters.calls.get_or_create(&labels).inc();
    }
}
