//! Metrics of a worker, and spans of the traces of its jobs.

mod meters;
mod model_call;
mod provider_meters;
mod span;

pub(crate) use meters::{Close, LogMeters, WorkerMeters};
pub(crate) use model_call::{CalledModel, ModelCall};
pub(crate) use provider_meters::ProviderMeters;
pub(crate) use span::{of_attempt, of_tool};
