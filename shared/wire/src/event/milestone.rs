//! Milestones: the event types in the feed of a tenant.

use super::EventKind;

impl EventKind {
    /// The event types in the feed of a tenant, in the order in which they occur in a job.
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

    /// Whether events of this type are in the feed of a tenant.
    pub fn is_milestone(self) -> bool {
        Self::MILESTONES.contains(&self)
    }
}
