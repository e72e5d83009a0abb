//! Positions in the feed, and the opaque cursors that clients receive.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use uuid::Uuid;

use crate::id::JobId;

/// The position of a milestone in the feed of its tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FeedPosition {
    /// The transaction that wrote the milestone.
    pub txid: i64,
    /// The job.
    pub job: JobId,
    /// The number of the milestone in the job's log.
    pub seq: i64,
}

impl FeedPosition {
    /// The position before all milestones of a transaction and of later transactions.
    pub const fn before(txid: i64) -> Self {
        Self {
            txid,
            job: JobId(Uuid::nil()),
            seq: 0,
        }
    }
}

/// A position in the form for clients. It is not valid in another epoch of the feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedCursor {
    /// The epoch of the feed.
    pub epoch: i32,
    /// The position.
    pub position: FeedPosition,
}

/// The text is not a valid cursor of the feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be an event cursor: the `id` of an event of the stream, or the `cursor` of a page")]
pub struct InvalidFeedCursor;

impl fmt::Display for FeedCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FeedPosition { txid, job, seq } = self.position;
        let text = format!("{}.{txid}.{}.{seq}", self.epoch, job.0.simple());
        f.write_str(&URL_SAFE_NO_PAD.encode(text))
    }
}

impl FromStr for FeedCursor {
    type Err = InvalidFeedCursor;

    fn from_str(text: &str) -> Result<Self, InvalidFeedCursor> {
        parse(text).ok_or(InvalidFeedCursor)
    }
}

fn parse(text: &str) -> Option<FeedCursor> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
    let mut parts = text.split('.');
    let cursor = FeedCursor {
        epoch: parts.next()?.parse().ok()?,
        position: FeedPosition {
            txid: parts.next()?.parse().ok()?,
            job: JobId(Uuid::try_parse(parts.next()?).ok()?),
            seq: parts.next()?.parse().ok()?,
        },
    };
    parts.next().is_none().then_some(cursor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_nothing_else_is_one() {
        let position = FeedPosition {
            txid: 4711,
            job: JobId(Uuid::from_u128(7)),
            seq: 3,
        };
        let cursor = FeedCursor { epoch: 2, position };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for text in ["", "x", "1", "2.4711", "%", &format!("{cursor}AA")] {
            assert_eq!(text.parse::<FeedCursor>(), Err(InvalidFeedCursor), "{text}");
        }
    }

    #[test]
    fn positions_are_ordered_by_transaction_then_job_then_event() {
        let at = |txid, job, seq| FeedPosition {
            txid,
            job: JobId(Uuid::from_u128(job)),
            seq,
        };
        let order = [at(9, 5, 5), at(10, 1, 9), at(10, 2, 1), at(10, 2, 10)];
        assert!(order.is_sorted());
        assert!(FeedPosition::before(10) < order[1]);
        assert!(FeedPosition::before(10) > order[0]);
    }
}
