//! The types of events that other systems follow.

use super::EventKind;

impl EventKind {
    /// The types of events that go to the feed of a tenant, in the order of a job's life.
    pub const MILESTONES: [Self; 10] = [
        Self::JobQueued,
        Self::JobStarted,
        Self::JobWaiting,
        Self::ApprovalRequested,
        Self::ApprovalResolved,
        Self::AssetCreated,
        Self::JobRetrying,
        Self::JobCompleted,
        Self::JobFailed,
        Self::JobCancelled,
    ];

    /// Whether events of this type go to the feed of a tenant.
    pub fn is_milestone(self) -> bool {
        Self::MILESTONES.contains(&self)
    }
}
