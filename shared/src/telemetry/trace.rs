//! Traces, from a client's request through the queue to each tool call.
//!
//! A trace exists only if the program has set up an exporter. Otherwise a span costs nothing. Spans record operations,
//! durations and outcomes, but no text that people, models or tools wrote.

use std::collections::HashMap;
use std::sync::OnceLock;

use futures_util::future::Either;
use opentelemetry::global::{self, BoxedTracer};
use opentelemetry::propagation::Extractor;
use opentelemetry::trace::{FutureExt, SpanKind, Status, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue, Value};
use tracing::Instrument;

use crate::job::Origin;

static TRACER: OnceLock<BoxedTracer> = OnceLock::new();

/// Enables spans. The global provider and propagator must be set before.
pub fn enable() {
    // Further calls have no effect: the first provider stays, as in the library.
    let _ = TRACER.set(global::tracer("skillet"));
}

/// A span, which ends when it is dropped. Empty if traces are disabled.
#[derive(Clone, Debug, Default)]
pub struct Span(Option<Context>);

impl Span {
    /// Begins a span for a received request. Its parent is the trace context in the headers, if there is one.
    pub fn of_request(headers: &dyn Extractor, name: impl FnOnce() -> String) -> Self {
        Self::begin(SpanKind::Server, name, || {
            global::get_text_map_propagator(|propagator| propagator.extract(headers))
        })
    }

    /// Begins a span for a message from the queue. Its parent is the trace context in `origin`, if there is one.
    pub fn of_message(origin: Option<&Origin>, name: impl FnOnce() -> String) -> Self {
        Self::begin(SpanKind::Consumer, name, || match origin {
            Some(origin) => {
                global::get_text_map_propagator(|propagator| propagator.extract(origin.fields()))
            }
            None => Context::new(),
        })
    }

    /// Begins a child span for a request to another service.
    pub fn call(&self, name: impl FnOnce() -> String) -> Self {
        self.part(SpanKind::Client, name)
    }

    /// Begins a child span for work in this process.
    pub fn work(&self, name: impl FnOnce() -> String) -> Self {
        self.part(SpanKind::Internal, name)
    }

    fn part(&self, kind: SpanKind, name: impl FnOnce() -> String) -> Self {
        match &self.0 {
            Some(context) => Self::begin(kind, name, || context.clone()),
            None => Self(None),
        }
    }

    fn begin(
        kind: SpanKind,
        name: impl FnOnce() -> String,
        parent: impl FnOnce() -> Context,
    ) -> Self {
        Self(TRACER.get().map(|tracer| {
            let parent = parent();
            let span = tracer
                .span_builder(name())
                .with_kind(kind)
                .start_with_context(tracer, &parent);
            parent.with_span(span)
        }))
    }

    /// Sets an attribute. The value is computed only if the span is recorded.
    pub fn set<V: Into<Value>>(&self, key: &'static str, value: impl FnOnce() -> V) {
        if let Some(context) = self.0.as_ref().filter(|it| it.span().is_recording()) {
            context.span().set_attribute(KeyValue::new(key, value()));
        }
    }

    /// Renames the span when more is known.
    pub fn rename(&self, name: impl FnOnce() -> String) {
        if let Some(context) = &self.0 {
            context.span().update_name(name());
        }
    }

    /// Records a temporary error after which the operation was retried.
    pub fn note(&self, what: &'static str, error: &'static str) {
        if let Some(context) = &self.0 {
            let attributes = vec![KeyValue::new("error.type", error)];
            context.span().add_event(what, attributes);
        }
    }

    /// Marks the span as failed. `error` is one of a few fixed words.
    pub fn fail(&self, error: &'static str) {
        if let Some(context) = &self.0 {
            context
                .span()
                .set_attribute(KeyValue::new("error.type", error));
            context.span().set_status(Status::error(error));
        }
    }

    /// Runs a future within this span. Its log lines have the trace id.
    pub fn around<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        // An `async` function would reserve space for the future twice.
        let Some(context) = &self.0 else {
            return Either::Left(future);
        };
        let trace_id = context.span().span_context().trace_id();
        let lines = tracing::error_span!("trace", trace_id = %trace_id);
        Either::Right(future.with_context(context.clone()).instrument(lines))
    }
}

impl Origin {
    /// The trace context of the current span; see [`Span::around`].
    pub fn current() -> Option<Self> {
        TRACER.get()?;
        let mut fields = HashMap::new();
        global::get_text_map_propagator(|propagator| propagator.inject(&mut fields));
        // An empty `tracestate` has no meaning.
        fields.retain(|_, value| !value.is_empty());
        (!fields.is_empty()).then(|| Self::new(fields))
    }
}
