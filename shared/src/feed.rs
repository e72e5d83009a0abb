//! The feed: the milestones of all jobs of a tenant, in the same order for all readers.

mod cursor;
mod filter;

pub use cursor::{FeedCursor, FeedPosition, InvalidFeedCursor};
pub use filter::FeedFilter;
pub use skillet_wire::feed::FeedEvent;

/// A milestone and its position in the feed.
#[derive(Clone, Debug)]
pub struct FeedEntry {
    /// The position of the milestone.
    pub position: FeedPosition,
    /// The milestone, in the form that clients receive.
    pub event: FeedEvent,
}
