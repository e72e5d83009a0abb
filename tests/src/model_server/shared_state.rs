//! The scripts, and the choice of the reply to each request.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use serde_json::Value;

use super::conversation::{Conversation, Script};
use super::fault::{Faults, is_name_char};
use super::given::Given;
use super::history::AllowedChange;
use super::reply::{Answer, Failure, Reply};
use super::request::Request;
use super::watcher::Watcher;
use super::wire;

/// The state shared by the server's threads and the test.
#[derive(Default)]
pub(super) struct SharedState(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    conversations: HashMap<String, Conversation>,
    violations: Vec<String>,
    delay: Duration,
}

/// The selected reply to a request.
pub(super) struct SelectedReply {
    pub(super) content: ReplyContent,
    pub(super) delay: Duration,
    pub(super) watcher: Watcher,
    /// The number of earlier requests under the same marker.
    pub(super) number: usize,
}

pub(super) enum ReplyContent {
    Message(Given),
    Error(Failure),
}

/// The violations of a request, in one text.
pub(super) struct Violation(pub(super) String);

impl SharedState {
    pub(super) fn script(&self, marker: &str, replies: Vec<Reply>) {
        {
            let mut inner = self.lock();
            if let Some(conversation) = inner.conversations.get_mut(marker) {
                match &mut conversation.script {
                    Script::List(list) => list.extend(replies),
                    Script::Rule(_) => panic!("#{marker} has a rule"),
                }
                return;
            }
        }
        self.add(marker, Script::List(replies.into()));
    }

    pub(super) fn add(&self, marker: &str, script: Script) {
        let is_valid = !marker.is_empty() && marker.chars().all(is_name_char);
        assert!(
            is_valid,
            "the marker {marker:?} is not of letters, digits, `_` and `-`"
        );
        let conversation = Conversation::new(script);
        let before = self
            .lock()
            .conversations
            .insert(marker.to_owned(), conversation);
        assert!(before.is_none(), "#{marker} has a script");
    }

    pub(super) fn allow_new_beginning(&self, marker: &str) {
        self.lock().conversation(marker).begins_anew = true;
    }

    pub(super) fn forget(&self, marker: &str) {
        self.lock().conversations.remove(marker);
    }

    pub(super) fn set_delay(&self, delay: Duration) {
        self.lock().delay = delay;
    }

    pub(super) fn requests(&self, marker: &str) -> Vec<Request> {
        self.lock().conversation(marker).requests()
    }

    pub(super) fn remaining(&self, marker: &str) -> usize {
        match &self.lock().conversation(marker).script {
            Script::List(list) => list.len(),
            Script::Rule(_) => 0,
        }
    }

    pub(super) fn violations(&self) -> Vec<String> {
        self.lock().violations.clone()
    }

    pub(super) fn watcher(&self, marker: &str) -> Watcher {
        self.lock().conversation(marker).watcher.clone()
    }

    /// Checks a request and selects its reply.
    pub(super) fn select_reply(&self, request: &Request) -> Result<SelectedReply, Violation> {
        let messages = request.canonical_messages();
        let (marker, number) = self.admit(request, &messages)?;
        let reply = self.next_reply(&marker, number, request)?;

        let mut inner = self.lock();
        let delay = reply.delay.unwrap_or(inner.delay);
        let conversation = inner.conversation(&marker);
        let content = match reply.answer {
            Answer::Error(failure) => ReplyContent::Error(failure),
            Answer::Message(message) => {
                let given = Given::new(message, request.provider);
                conversation
                    .called_tools
                    .extend(given.calls().map(str::to_owned));
                conversation.history.answer(&messages, given.clone());
                ReplyContent::Message(given)
            }
        };
        Ok(SelectedReply {
            content,
            delay,
            watcher: conversation.watcher.clone(),
            number,
        })
    }

    /// Records a violation of a request whose marker could not be read.
    pub(super) fn refuse(&self, fault: String) -> Violation {
        self.lock().violate("A request", vec![fault])
    }

    /// Checks a request and returns its marker and its number.
    fn admit(&self, request: &Request, messages: &[Value]) -> Result<(String, usize), Violation> {
        let mut faults = Faults::default();
        let mut inner = self.lock();
        let Some(marker) = inner.marker(&request.prompt()) else {
            faults.add("No marker of a script stands in the first user text.");
            wire::check(request, &[], &mut faults);
            return Err(inner.violate("A request", faults.into_vec()));
        };
        let conversation = inner.conversation(&marker);
        let number = conversation.receive(request.clone());
        let called_tools: Vec<String> = conversation.called_tools.iter().cloned().collect();
        wire::check(request, &called_tools, &mut faults);
        let allowed = match conversation.script {
            _ if conversation.begins_anew => AllowedChange::NewBeginning,
            Script::Rule(_) => AllowedChange::OtherMessages,
            Script::List(_) => AllowedChange::None,
        };
        let history = &mut conversation.history;
        if let Some(fault) = history.contradiction(request.provider, messages, allowed) {
            faults.add(fault);
        }
        let faults = faults.into_vec();
        if faults.is_empty() {
            history.note(messages);
            return Ok((marker, number));
        }
        Err(inner.violate(&place(&marker, number), faults))
    }

    fn next_reply(
        &self,
        marker: &str,
        number: usize,
        request: &Request,
    ) -> Result<Reply, Violation> {
        let mut inner = self.lock();
        let next = match &mut inner.conversation(marker).script {
            Script::List(list) => list.pop_front().ok_or("The script has ended."),
            Script::Rule(rule) => {
                let rule = rule.clone();
                // The rule is code of the test, which may be slow or call this server.
                drop(inner);
                let reply = catch_unwind(AssertUnwindSafe(|| rule(request)));
                inner = self.lock();
                reply.map_err(|_| "The rule panicked.")
            }
        };
        next.map_err(|fault| inner.violate(&place(marker, number), vec![fault.to_owned()]))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Ignore poisoning: the test that panicked under the lock has failed already.
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Inner {
    fn conversation(&mut self, marker: &str) -> &mut Conversation {
        let found = self.conversations.get_mut(marker);
        found.unwrap_or_else(|| panic!("#{marker} has no script"))
    }

    /// Returns the first `#marker` in the text that has a script.
    fn marker(&self, text: &str) -> Option<String> {
        text.split('#').skip(1).find_map(|after| {
            let end = after
                .find(|char| !is_name_char(char))
                .unwrap_or(after.len());
            let (marker, _) = self.conversations.get_key_value(&after[..end])?;
            Some(marker.clone())
        })
    }

    fn violate(&mut self, place: &str, faults: Vec<String>) -> Violation {
        let violation = Violation(faults.join(" "));
        let faults = faults.into_iter().map(|fault| format!("{place}: {fault}"));
        self.violations.extend(faults);
        violation
    }
}

fn place(marker: &str, number: usize) -> String {
    format!("#{marker}, request {number}")
}
