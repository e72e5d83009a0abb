//! A batch of appends as arrays for a statement.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::super::JsonText;
use super::super::columns::columns;
use super::{Append, RunTransition};
use crate::event::{ApprovalStatus, EventData, EventKind};
use crate::job::Outcome;

columns! {
    /// An append, without its events.
    struct AppendColumns of AppendRow {
        job_id: Uuid,
        lease: i64,
        base: i64,
        events: i32,
        transition: Option<&'static str>,
        at: Option<DateTime<Utc>>,
        outcome: Option<Outcome>,
        result: Option<JsonText>,
        skill_digest: Option<String>,
    }
}

columns! {
    /// An event. It refers to its append by number, starting at 1, and not by its job, because the batch may have
    /// another append for the same job under another lease.
    struct EventColumns of EventRow {
        append: i64,
        position: i32,
        kind: EventKind,
        data: JsonText,
    }
}

columns! {
    /// An asset that an event announces.
    struct AssetColumns of AssetRow {
        append: i64,
        asset_id: Uuid,
    }
}

columns! {
    /// An approval that an event requests.
    struct RequestedColumns of RequestedRow {
        append: i64,
        position: i32,
        approval_id: Uuid,
        expires_at: DateTime<Utc>,
    }
}

columns! {
    /// An approval that an event resolves.
    struct ResolvedColumns of ResolvedRow {
        append: i64,
        position: i32,
        approval_id: Uuid,
        status: ApprovalStatus,
    }
}

columns! {
    /// A milestone to add to the feed.
    struct MilestoneColumns of MilestoneRow {
        append: i64,
        position: i32,
        kind: EventKind,
    }
}

/// A batch as arrays for the statement.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) appends: AppendColumns,
    /// Events that are kept for the whole retention.
    pub(super) events: EventColumns,
    /// Live output.
    pub(super) deltas: EventColumns,
    pub(super) assets: AssetColumns,
    pub(super) requested: RequestedColumns,
    pub(super) resolved: ResolvedColumns,
    pub(super) milestones: MilestoneColumns,
}

impl Columns {
    pub(super) fn of(batch: &[Append]) -> Self {
        let mut columns = Self::default();
        for (number, append) in (1..).zip(batch) {
            columns.appends.push(AppendRow::of(append));
            for (position, event) in (1..).zip(&append.events) {
                columns.push(number, position, event);
            }
        }
        columns
    }

    fn push(&mut self, append: i64, position: i32, event: &EventData) {
        let (_, data) = event.to_stored();
        let columns = if event.kind().is_delta() {
            &mut self.deltas
        } else {
            &mut self.events
        };
        columns.push(EventRow {
            append,
            position,
            kind: event.kind(),
            data: JsonText(data),
        });
        if event.kind().is_milestone() {
            self.milestones.push(MilestoneRow {
                append,
                position,
                kind: event.kind(),
            });
        }
        match event {
            EventData::AssetCreated(created) => self.assets.push(AssetRow {
                append,
                asset_id: created.asset.id.0,
            }),
            EventData::ApprovalRequested(approval) => self.requested.push(RequestedRow {
                append,
                position,
                approval_id: approval.approval_id.0,
                expires_at: approval.expires_at,
            }),
            EventData::ApprovalResolved(approval) => self.resolved.push(ResolvedRow {
                append,
                position,
                approval_id: approval.approval_id.0,
                status: approval.status,
            }),
            _ => {}
        }
    }
}

impl AppendRow {
    fn of(append: &Append) -> Self {
        let row = Self {
            job_id: append.lease.job.0,
            lease: append.lease.number,
            base: append.base,
            events: i32::try_from(append.events.len()).expect("a batch is capped"),
            transition: None,
            at: None,
            outcome: None,
            result: None,
            skill_digest: None,
        };
        match &append.next {
            RunTransition::Continue => row,
            RunTransition::Wait => Self {
                transition: Some("wait"),
                ..row
            },
            RunTransition::Resume => Self {
                transition: Some("resume"),
                ..row
            },
            RunTransition::Requeue { cause, run_at } => Self {
                transition: Some(cause.as_str()),
                at: Some(*run_at),
                ..row
            },
            RunTransition::Finish {
                outcome,
                at,
                result,
                skill_digest,
            } => Self {
                at: Some(*at),
                outcome: Some(*outcome),
                result: Some(JsonText(result.clone())),
                skill_digest: skill_digest.clone(),
                ..row
            },
        }
    }
}
