//! What operators see of a worker's work: numbers, and spans of the traces that jobs belong to.

mod meters;
mod model_call;
mod span;

pub(crate) use meters::{Close, LogMeters, Meters};
pub(crate) use model_call::ModelCall;
pub(crate) use span::{of_attempt, of_tool};
