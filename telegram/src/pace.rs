//! The pace of messages, which keeps them within Telegram's rate limits.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// The time between two messages of a chat.
const CHAT_INTERVAL: Duration = Duration::from_secs(1);
/// The time between a message and an edit, in a private chat and in a group.
const EDIT_INTERVAL: Duration = Duration::from_millis(1500);
const GROUP_EDIT_INTERVAL: Duration = Duration::from_secs(3);
/// The maximum number of messages to a group per minute, and of edits among them.
const GROUP_WINDOW: Duration = Duration::from_secs(60);
const GROUP_MESSAGES: usize = 20;
const GROUP_EDITS: usize = 14;
/// The maximum number of messages to all chats per second. Telegram allows 30.
const ALL_WINDOW: Duration = Duration::from_secs(1);
const ALL_MESSAGES: usize = 25;

/// The class of a call. An edit of progress may be dropped. Of the messages, only an answer to a user without access
/// may be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PaceClass {
    Message,
    Edit,
}

/// The recent calls of one chat.
#[derive(Debug)]
pub(crate) struct ChatPace {
    is_group: bool,
    /// The times at which the latest calls were answered.
    calls: VecDeque<Instant>,
    /// The time until which Telegram asked to wait.
    paused_until: Option<Instant>,
}

impl ChatPace {
    pub(crate) fn new(is_group: bool) -> Self {
        Self {
            is_group,
            calls: VecDeque::new(),
            paused_until: None,
        }
    }

    /// Returns the earliest time of the next call.
    pub(crate) fn ready_at(&self, class: PaceClass, now: Instant) -> Instant {
        let interval = match (class, self.is_group) {
            (PaceClass::Message, _) => CHAT_INTERVAL,
            (PaceClass::Edit, false) => EDIT_INTERVAL,
            (PaceClass::Edit, true) => GROUP_EDIT_INTERVAL,
        };
        let mut ready = self.calls.back().map_or(now, |last| *last + interval);
        if self.is_group {
            let most = match class {
                PaceClass::Message => GROUP_MESSAGES,
                PaceClass::Edit => GROUP_EDITS,
            };
            ready = ready.max(window_opens(&self.calls, most, GROUP_WINDOW, now));
        }
        ready.max(self.paused_until.unwrap_or(now)).max(now)
    }

    /// Records an answered call.
    pub(crate) fn note(&mut self, at: Instant) {
        self.calls.push_back(at);
        if self.calls.len() > GROUP_MESSAGES {
            self.calls.pop_front();
        }
    }

    /// Records that Telegram asked to wait.
    pub(crate) fn pause(&mut self, until: Instant) {
        self.paused_until = Some(until);
    }
}

/// The recent calls of all chats.
#[derive(Debug, Default)]
pub(crate) struct BotPace {
    calls: VecDeque<Instant>,
}

impl BotPace {
    /// Reserves the next call, and returns its time.
    pub(crate) fn take(&mut self, now: Instant) -> Instant {
        let at = window_opens(&self.calls, ALL_MESSAGES, ALL_WINDOW, now);
        self.calls.push_back(at);
        if self.calls.len() > ALL_MESSAGES {
            self.calls.pop_front();
        }
        at
    }
}

/// Returns the time from which a window has fewer than `most` calls.
fn window_opens(calls: &VecDeque<Instant>, most: usize, window: Duration, now: Instant) -> Instant {
    let oldest = calls.len().checked_sub(most).map(|place| calls[place]);
    oldest.map_or(now, |oldest| (oldest + window).max(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Makes as many calls of one class as fit into a minute.
    fn calls_in_a_minute(is_group: bool, class: PaceClass) -> Vec<Duration> {
        let begin = Instant::now();
        let mut pace = ChatPace::new(is_group);
        let mut times = Vec::new();
        loop {
            let now = times.last().map_or(begin, |last| begin + *last);
            let at = pace.ready_at(class, now);
            if at >= begin + GROUP_WINDOW {
                return times;
            }
            pace.note(at);
            times.push(at - begin);
        }
    }

    #[test]
    fn a_private_chat_takes_a_message_a_second() {
        let times = calls_in_a_minute(false, PaceClass::Message);
        assert_eq!(times.len(), 60);
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= SECOND));
        assert_eq!(calls_in_a_minute(false, PaceClass::Edit).len(), 40);
    }

    #[test]
    fn edits_leave_room_for_messages_in_a_group() {
        let edits = calls_in_a_minute(true, PaceClass::Edit);
        assert_eq!(edits.len(), GROUP_EDITS);
        assert_eq!(
            calls_in_a_minute(true, PaceClass::Message).len(),
            GROUP_MESSAGES
        );
        let begin = Instant::now();
        let mut pace = ChatPace::new(true);
        edits.iter().for_each(|at| pace.note(begin + *at));
        let last = begin + *edits.last().unwrap();
        assert_eq!(pace.ready_at(PaceClass::Message, last), last + SECOND);
        assert_eq!(
            pace.ready_at(PaceClass::Edit, last),
            begin + GROUP_WINDOW,
            "the first edit leaves the window"
        );
    }

    #[test]
    fn a_pause_holds_back_everything() {
        let begin = Instant::now();
        let mut pace = ChatPace::new(false);
        pace.pause(begin + 40 * SECOND);
        for class in [PaceClass::Message, PaceClass::Edit] {
            assert_eq!(pace.ready_at(class, begin), begin + 40 * SECOND);
        }
        let later = begin + 41 * SECOND;
        assert_eq!(pace.ready_at(PaceClass::Message, later), later);
    }

    #[test]
    fn all_chats_together_take_25_in_a_second() {
        let begin = Instant::now();
        let mut pace = BotPace::default();
        let times: Vec<_> = (0..60).map(|_| pace.take(begin) - begin).collect();
        assert_eq!(times[24], Duration::ZERO);
        assert_eq!(times[25], SECOND);
        assert_eq!(times[59], 2 * SECOND);
    }
}
