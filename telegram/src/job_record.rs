//! The state of a job in its chat, stored by the service in the metadata of the job.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use skillet_client::types::id::ApprovalId;
use skillet_client::types::job::Job;

use crate::place::ChatPlace;

/// The name of this adapter in the metadata of its jobs.
pub(crate) const ADAPTER: &str = "telegram";

/// The state of a job in its chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobRecord {
    pub(crate) adapter: String,
    pub(crate) bot: i64,
    pub(crate) place: ChatPlace,
    /// The message that requested the job.
    pub(crate) message: i64,
    /// The number of the job's conversation in this place. `None` for a job of a skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) conversation: Option<u32>,
    /// Whether messages of the job are still to be sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) open: bool,
    /// The message that shows the progress of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status_message: Option<i64>,
    /// The messages with buttons that ask for an approval.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) approvals: BTreeMap<ApprovalId, i64>,
    /// The number of parts of the result that have been sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) delivered: usize,
}

impl JobRecord {
    /// Returns the state of a new job.
    pub(crate) fn new(bot: i64, place: ChatPlace, message: i64) -> Self {
        Self {
            adapter: ADAPTER.to_owned(),
            bot,
            place,
            message,
            conversation: None,
            open: true,
            status_message: None,
            approvals: BTreeMap::new(),
            delivered: 0,
        }
    }

    /// Returns the state of a job, if the job belongs to this bot.
    pub(crate) fn of(job: &Job, bot: i64) -> Option<Self> {
        let metadata = Value::Object(job.metadata.clone());
        let record: Self = serde_json::from_value(metadata).ok()?;
        (record.adapter == ADAPTER && record.bot == bot).then_some(record)
    }

    pub(crate) fn to_metadata(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(metadata)) => metadata,
            _ => Map::new(),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature of serde")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_is_read_as_it_is_written() {
        let place = "-100/5".parse().unwrap();
        let mut record = JobRecord::new(42, place, 9);
        let metadata = json!({"adapter": "telegram", "bot": 42, "place": "-100/5", "message": 9, "open": true});
        assert_eq!(Value::Object(record.to_metadata()), metadata);
        record.approvals.insert(uuid::Uuid::from_u128(5).into(), 11);
        record.delivered = 2;
        let written = Value::Object(record.to_metadata());
        assert_eq!(
            serde_json::from_value::<JobRecord>(written).unwrap(),
            record
        );
    }
}
