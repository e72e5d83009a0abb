//! Metrics of a worker, and spans of the traces of its jobs.

mod meters;
mod model_call;
mod span;

pub(crate) use meters::{Close, LogMeters, WorkerMeters};
pub(crate) use model_call::ModelCall;
pub(crate) use span::{of_attempt, of_tool};
