//! The state of one marker.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use super::history::History;
use super::reply::Reply;
use super::request::Request;
use super::watcher::Watcher;

/// The most requests that are kept for a test to look at; of more, the oldest are forgotten.
const MAX_KEPT_REQUESTS: usize = 1_000;

/// One script, and what was made of it.
pub(super) struct Conversation {
    pub(super) script: Script,
    /// Whether its requests may begin in another way than those before.
    pub(super) begins_anew: bool,
    pub(super) history: History,
    /// The tools that the model has called, existing or not.
    pub(super) called_tools: HashSet<String>,
    pub(super) watcher: Watcher,
    received: usize,
    requests: VecDeque<Request>,
}

/// Where replies come from.
pub(super) enum Script {
    /// One after the other.
    List(VecDeque<Reply>),
    /// Whatever the test says.
    Rule(Rule),
}

pub(super) type Rule = Arc<dyn Fn(&Request) -> Reply + Send + Sync>;

impl Script {
    pub(super) fn rule(rule: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::Rule(Arc::new(rule))
    }
}

impl Conversation {
    pub(super) fn new(script: Script) -> Self {
        Self {
            script,
            begins_anew: false,
            history: History::default(),
            called_tools: HashSet::new(),
            watcher: Watcher::default(),
            received: 0,
            requests: VecDeque::new(),
        }
    }

    /// Keeps the request, and says how many there were before it.
    pub(super) fn receive(&mut self, request: Request) -> usize {
        if self.requests.len() == MAX_KEPT_REQUESTS {
            self.requests.pop_front();
        }
        self.requests.push_back(request);
        self.received += 1;
        self.received - 1
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.iter().cloned().collect()
    }
}
