//! The trace to which a job belongs.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// The trace context of the request that submitted a job, as the fields of W3C Trace Context. Stored with the request.
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
