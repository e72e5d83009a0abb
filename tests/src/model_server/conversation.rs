//! The state of one marker.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use super::history::History;
use super::reply::Reply;
use super::request::Request;
use super::watcher::Watcher;

/// The highest number of requests kept for each marker. Beyond that, the oldest are deleted.
const MAX_KEPT_REQUESTS: usize = 1_000;

/// A script and its recorded requests.
pub(super) struct Conversation {
    pub(super) script: Script,
    /// Whether requests may begin differently from earlier ones.
    pub(super) begins_anew: bool,
    pub(super) history: History,
    /// The names of the tools that the model has called, whether or not the tools exist.
    pub(super) called_tools: HashSet<String>,
    pub(super) watcher: Watcher,
    received: usize,
    requests: VecDeque<Request>,
}

/// The source of replies.
pub(super) enum Script {
    /// Replies given one after the other.
    List(VecDeque<Reply>),
    /// A function of the test.
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

    /// Records the request and returns the number of requests before it.
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
