//! The feed: the milestones of all jobs of a tenant, in one order for all readers.

mod cursor;
mod filter;

pub use cursor::{FeedCursor, FeedPosition, InvalidFeedCursor};
pub use filter::FeedFilter;
pub use skillet_wire::feed::FeedEvent;

/// A milestone with its place in the feed.
#[derive(Clone, Debug)]
pub struct FeedEntry {
    /// Its place.
    pub position: FeedPosition,
    /// What clients get.
    pub event: FeedEvent,
}
