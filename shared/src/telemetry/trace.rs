//! Traces, from a client's request over the queue to the last call of a tool.
//!
//! A trace exists only if the program has set up an exporter; otherwise a span costs nothing. Spans say what was
//! done, how long it took and how it ended, never what a person, a model or a tool wrote.

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

/// Lets spans begin. The global provider and propagator are set before.
pub fn enable() {
    // The first provider stays, as it does for the library.
    let _ = TRACER.set(global::tracer("skillet"));
}

/// Something that takes time, and may have parts. It ends when it is dropped. Nothing if traces are off, or if
/// this one is not recorded.
#[derive(Clone, Debug, Default)]
pub struct Span(Option<Context>);

impl Span {
    /// A span that something outside of this process has caused, if it said so.
    pub fn of_request(headers: &dyn Extractor, name: impl FnOnce() -> String) -> Self {
        Self::begin(SpanKind::Server, name, || {
            global::get_text_map_propagator(|propagator| propagator.extract(headers))
        })
    }

    /// A span that a message out of the queue has caused.
    pub fn of_message(origin: Option<&Origin>, name: impl FnOnce() -> String) -> Self {
        Self::begin(SpanKind::Consumer, name, || match origin {
            Some(origin) => {
                global::get_text_map_propagator(|propagator| propagator.extract(origin.fields()))
            }
            None => Context::new(),
        })
    }

    /// A part of this one: a request to something else.
    pub fn call(&self, name: impl FnOnce() -> String) -> Self {
        self.part(SpanKind::Client, name)
    }

    /// A part of this one: work of this process.
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

    /// Says something of it. The value is made only if someone will see it.
    pub fn set<V: Into<Value>>(&self, key: &'static str, value: impl FnOnce() -> V) {
        if let Some(context) = self.0.as_ref().filter(|it| it.span().is_recording()) {
            context.span().set_attribute(KeyValue::new(key, value()));
        }
    }

    /// Names it better, now that more is known.
    pub fn rename(&self, name: impl FnOnce() -> String) {
        if let Some(context) = &self.0 {
            context.span().update_name(name());
        }
    }

    /// Says that something in it went wrong for once, and was tried again.
    pub fn note(&self, what: &'static str, error: &'static str) {
        if let Some(context) = &self.0 {
            let attributes = vec![KeyValue::new("error.type", error)];
            context.span().add_event(what, attributes);
        }
    }

    /// Says that it failed, and how: in a word that is one of few.
    pub fn fail(&self, error: &'static str) {
        if let Some(context) = &self.0 {
            context
                .span()
                .set_attribute(KeyValue::new("error.type", error));
            context.span().set_status(Status::error(error));
        }
    }

    /// Has what happens in the future happen within this span, its log lines included.
    pub fn around<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        // An `async` function would have room for the future twice.
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
        // An empty `tracestate` says nothing.
        fields.retain(|_, value| !value.is_empty());
        (!fields.is_empty()).then(|| Self::new(fields))
    }
}
