//! The trace context of a job.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// The W3C Trace Context fields of the request that submitted a job. Stored with the job's request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Origin(HashMap<String, String>);

impl Origin {
    pub(crate) fn new(fields: HashMap<String, String>) -> Self {
        Self(fields)
    }

    pub(crate) fn fields(&self) -> &HashMap<String, String> {
        &self.0
    }
}
