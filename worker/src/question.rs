//! A question to the model, with what is known about its size.

use shared::job::Usage;
use worker_model::ModelRequest;

use crate::transcript::Measured;

/// A question to the model, with what is known about its size.
pub(crate) struct Question<'a> {
    pub(crate) request: ModelRequest<'a>,
    /// The part of the request that the provider has counted.
    pub(crate) measured: Option<Measured>,
    /// The usage of the job so far.
    pub(crate) used: Usage,
    /// Whether the loop needs the reply. The deltas of a required reply go to the log as they arrive.
    pub(crate) urgency: Urgency,
}

/// Whether the loop needs a reply.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// The loop ends without the reply. The call waits for budget that others may release, and accepts a shorter reply.
    Required,
    /// The loop continues without the reply.
    Optional,
}
