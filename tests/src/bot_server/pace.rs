//! Telegram's rate limits.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The shortest interval between two calls to the same chat.
const CHAT: Duration = Duration::from_secs(1);
/// The clock tolerance for busy machines.
const TOLERANCE: Duration = Duration::from_millis(20);
/// The highest number of calls to one group in a minute.
const GROUP: (usize, Duration) = (20, Duration::from_secs(60));
/// The highest number of calls to all chats in a second.
const ALL: (usize, Duration) = (30, Duration::from_secs(1));

/// The times of the calls that changed each chat.
#[derive(Default)]
pub(super) struct ChatCalls(HashMap<i64, Vec<Instant>>);

impl ChatCalls {
    /// Records a call, or returns the rate limit that it exceeds.
    pub(super) fn note(&mut self, chat: i64) -> Result<(), String> {
        let now = Instant::now();
        let within = |calls: &Vec<Instant>, window: Duration| {
            let recent = calls.iter().filter(|at| now.duration_since(**at) < window);
            recent.count()
        };
        let all: usize = self.0.values().map(|calls| within(calls, ALL.1)).sum();
        let calls = self.0.entry(chat).or_default();
        let fault = if within(calls, CHAT - TOLERANCE) > 0 {
            Some(format!("chat {chat} gets two calls in a second"))
        } else if chat < 0 && within(calls, GROUP.1) >= GROUP.0 {
            Some(format!(
                "group {chat} gets more than {} calls in a minute",
                GROUP.0
            ))
        } else if all >= ALL.0 {
            Some(format!("more than {} calls in a second", ALL.0))
        } else {
            None
        };
        match fault {
            Some(fault) => Err(fault),
            None => {
                calls.push(now);
                Ok(())
            }
        }
    }
}
