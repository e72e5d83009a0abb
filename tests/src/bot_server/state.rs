//! The state that the server's threads and the test share.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::call::BotCall;
use super::chat_log::ChatLog;
use super::pace::ChatCalls;

/// A way in which a call fails.
#[derive(Clone, Debug)]
pub enum CallFault {
    /// Status 429, with the number of seconds to wait.
    TooMany(u64),
    /// An error with a status and a description.
    Refuse(u16, &'static str),
    /// The call takes effect, and the connection is closed before the response.
    LoseAnswer,
}

/// The complete state of the server.
#[derive(Default)]
pub(super) struct SharedBotState {
    inner: Mutex<BotState>,
    change: Notify,
}

pub(super) struct BotState {
    pub(super) chats: ChatLog,
    pub(super) updates: VecDeque<Value>,
    pub(super) next_update: i64,
    pub(super) files: HashMap<String, (String, Vec<u8>)>,
    pub(super) calls: Vec<BotCall>,
    pub(super) pace: ChatCalls,
    pub(super) violations: Vec<String>,
    pub(super) faults: VecDeque<(&'static str, CallFault)>,
    /// The number of the latest `getUpdates` request. Earlier requests end.
    pub(super) poll: u64,
    pub(super) webhook: Option<(String, String)>,
    /// The number of calls to let pass before one is held, and whether the held call takes effect.
    pub(super) freeze: Option<(usize, bool)>,
    pub(super) is_frozen: bool,
}

impl Default for BotState {
    fn default() -> Self {
        Self {
            chats: ChatLog::default(),
            updates: VecDeque::new(),
            next_update: 700_000,
            files: HashMap::new(),
            calls: Vec::new(),
            pace: ChatCalls::default(),
            violations: Vec::new(),
            faults: VecDeque::new(),
            poll: 0,
            webhook: None,
            freeze: None,
            is_frozen: false,
        }
    }
}

impl SharedBotState {
    pub(super) fn lock(&self) -> MutexGuard<'_, BotState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes all tasks that wait for a change.
    pub(super) fn changed(&self) {
        self.change.notify_waiters();
    }

    /// Returns a future that waits for a change after this call.
    pub(super) fn on_change(&self) -> std::pin::Pin<Box<Notified<'_>>> {
        let mut notified = Box::pin(self.change.notified());
        notified.as_mut().enable();
        notified
    }
}

impl BotState {
    pub(super) fn add_update(&mut self, kind: &str, content: Value) {
        let mut update = json!({"update_id": self.next_update});
        update[kind] = content;
        self.next_update += 1;
        self.updates.push_back(update);
    }

    /// Takes the next fault for the method, if there is one.
    pub(super) fn fault(&mut self, method: &str) -> Option<CallFault> {
        let place = self.faults.iter().position(|(it, _)| *it == method)?;
        self.faults.remove(place).map(|(_, fault)| fault)
    }

    /// Counts a call. Returns `None` if the call is not held, and otherwise whether it takes effect.
    pub(super) fn holds(&mut self) -> Option<bool> {
        let (left, has_effect) = self.freeze.as_mut()?;
        if *left > 0 {
            *left -= 1;
            return None;
        }
        let has_effect = *has_effect;
        self.is_frozen = true;
        Some(has_effect)
    }
}
