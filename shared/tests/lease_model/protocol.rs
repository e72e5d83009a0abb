//! The actions of the model and their effects.

use stateright::{Model, Property};

use crate::promises;

pub(crate) const WORKERS: usize = 2;
/// The maximum number of failures in one history.
const MAX_FAILURES: u8 = 3;
/// The number of lost workers after which the job fails.
const MAX_CRASHES: u8 = 3;

/// The protocol, complete or with one rule missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Protocol {
    Complete,
    /// A worker can end the job without holding its lease.
    FinishWithoutFence,
    /// An append does not name the entry that it follows.
    AppendWithoutBase,
    /// The job of a silent worker is freed without a change of its lease and its log.
    ReapWithoutTrace,
    /// A worker that cannot renew its lease continues.
    NoSurrender,
    /// An append counts as written if any entry of its attempt has its number.
    WrittenByNumber,
    /// Silent workers are not detected.
    NoReaper,
    /// A job stays with a worker that never received the answer to its claim.
    NothingGivenUp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum LogEntryKind {
    Started,
    Step,
    Ended,
    Retried,
}

/// An entry of the log, with the lease of its attempt.
pub(crate) type Entry = (u8, LogEntryKind);

/// An append in transit: the worker, the entry under its lease, and the number of entries before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SentAppend {
    worker: usize,
    entry: Entry,
    base: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Health {
    Well,
    CutOff,
    Stopped,
    Dead,
}

/// The state of an attempt in its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Work {
    lease: u8,
    base: usize,
    last: Option<LogEntryKind>,
    sent: Option<LogEntryKind>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ProtocolState {
    pub(crate) lease: u8,
    pub(crate) attempt: u8,
    pub(crate) holder: Option<usize>,
    pub(crate) log: Vec<Entry>,
    pub(crate) crashes: u8,
    pub(crate) cancel: bool,
    pub(crate) health: [Health; WORKERS],
    /// Whether the worker was stopped. A worker that continues does not know at once what it missed.
    pub(crate) was_stopped: [bool; WORKERS],
    pub(crate) work: [Option<Work>; WORKERS],
    pub(crate) wire: Vec<SentAppend>,
    pub(crate) failures_left: u8,
    /// Whether a worker wrote without holding the job.
    pub(crate) was_written_without_lease: bool,
    /// Whether a worker removed the job's saved data because it believes that it ended the job.
    pub(crate) cleared: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Action {
    Claim {
        worker: usize,
        is_answered: bool,
    },
    Send(usize),
    Resend(usize),
    Deliver {
        append: SentAppend,
        is_answered: bool,
    },
    Fail(usize, Health),
    Recover(usize),
    Surrender(usize),
    Reap,
    Cancel,
}

impl ProtocolState {
    pub(crate) fn is_over(&self) -> bool {
        self.log
            .iter()
            .any(|(_, kind)| *kind == LogEntryKind::Ended)
    }

    /// Ends or frees the job of a lost worker.
    fn take_over(&mut self) {
        self.crashes += 1;
        let ends = self.cancel || self.crashes == MAX_CRASHES;
        self.log.push((
            self.attempt,
            if ends {
                LogEntryKind::Ended
            } else {
                LogEntryKind::Retried
            },
        ));
        self.lease += 1;
        self.holder = None;
    }
}

impl Protocol {
    fn accepts(self, state: &ProtocolState, append: &SentAppend) -> bool {
        let is_held = state.holder.is_some() || self == Self::ReapWithoutTrace;
        let is_fenced = is_held && append.entry.0 == state.lease;
        let follows = self == Self::AppendWithoutBase || append.base == state.log.len();
        let is_free = self == Self::FinishWithoutFence && append.entry.1 == LogEntryKind::Ended;
        is_free || is_fenced && follows && !state.is_over()
    }

    fn is_written(self, state: &ProtocolState, append: &SentAppend) -> bool {
        match state.log.get(append.base) {
            Some((attempt, _)) if self == Self::WrittenByNumber => *attempt == append.entry.0,
            Some(entry) => *entry == append.entry,
            None => false,
        }
    }

    /// Whether the holder can be considered lost.
    fn is_silent(self, state: &ProtocolState, holder: usize) -> bool {
        match state.health[holder] {
            // The worker never learned that it holds the job. The database tells it, and the job is given up.
            Health::Well => self != Self::NothingGivenUp && state.work[holder].is_none(),
            // The worker stops its own work before another worker can start.
            Health::CutOff => state.work[holder].is_none() || self == Self::NoSurrender,
            Health::Stopped | Health::Dead => true,
        }
    }

    fn answer(self, state: &mut ProtocolState, append: &SentAppend, is_good: bool) {
        let Some(work) = &mut state.work[append.worker].filter(|work| {
            state.health[append.worker] == Health::Well
                && work.lease == append.entry.0
                && work.sent == Some(append.entry.1)
                && work.base == append.base
        }) else {
            return;
        };
        state.work[append.worker] = if !is_good && !self.is_written(state, append) {
            None
        } else if append.entry.1 == LogEntryKind::Ended {
            state.cleared = true;
            None
        } else {
            Some(Work {
                base: work.base + 1,
                last: work.sent,
                sent: None,
                ..*work
            })
        };
    }
}

impl Model for Protocol {
    type State = ProtocolState;
    type Action = Action;

    fn init_states(&self) -> Vec<ProtocolState> {
        vec![ProtocolState {
            lease: 0,
            attempt: 0,
            holder: None,
            log: Vec::new(),
            crashes: 0,
            cancel: false,
            health: [Health::Well; WORKERS],
            was_stopped: [false; WORKERS],
            work: [None; WORKERS],
            wire: Vec::new(),
            failures_left: MAX_FAILURES,
            was_written_without_lease: false,
            cleared: false,
        }]
    }

    fn actions(&self, state: &ProtocolState, actions: &mut Vec<Action>) {
        let is_failure_left = state.failures_left > 0;
        for worker in 0..WORKERS {
            let (health, work) = (state.health[worker], state.work[worker]);
            if health != Health::Well {
                actions.push(Action::Recover(worker));
            }
            if health == Health::CutOff && work.is_some() && *self != Self::NoSurrender {
                actions.push(Action::Surrender(worker));
            }
            if health == Health::Well {
                match work {
                    None if state.holder.is_none() && !state.is_over() => {
                        actions.push(Action::Claim {
                            worker,
                            is_answered: true,
                        });
                        actions.extend(is_failure_left.then_some(Action::Claim {
                            worker,
                            is_answered: false,
                        }));
                    }
                    Some(Work { sent: None, .. }) => actions.push(Action::Send(worker)),
                    Some(work)
                        if !state
                            .wire
                            .iter()
                            .any(|it| it.worker == worker && it.base == work.base) =>
                    {
                        actions.push(Action::Resend(worker));
                    }
                    Some(_) if is_failure_left => actions.push(Action::Resend(worker)),
                    _ => {}
                }
                if is_failure_left {
                    let failures = [Health::CutOff, Health::Stopped, Health::Dead];
                    actions.extend(failures.map(|failure| Action::Fail(worker, failure)));
                }
            }
        }
        for append in &state.wire {
            actions.push(Action::Deliver {
                append: *append,
                is_answered: true,
            });
            actions.extend(is_failure_left.then_some(Action::Deliver {
                append: *append,
                is_answered: false,
            }));
        }
        let holder = state.holder.filter(|_| *self != Self::NoReaper);
        if holder.is_some_and(|holder| self.is_silent(state, holder)) {
            actions.push(Action::Reap);
        }
        if !state.cancel && is_failure_left && !state.is_over() {
            actions.push(Action::Cancel);
        }
    }

    fn next_state(&self, before: &ProtocolState, action: Action) -> Option<ProtocolState> {
        let mut state = before.clone();
        match action {
            Action::Claim {
                worker,
                is_answered,
            } => {
                state.lease += 1;
                state.attempt = state.lease;
                state.holder = Some(worker);
                let (lease, base) = (state.lease, state.log.len());
                state.work[worker] = is_answered.then_some(Work {
                    lease,
                    base,
                    last: None,
                    sent: None,
                });
                state.failures_left -= u8::from(!is_answered);
            }
            Action::Send(worker) => {
                let work = state.work[worker].as_mut()?;
                let kind = match work.last {
                    _ if state.cancel => LogEntryKind::Ended,
                    None => LogEntryKind::Started,
                    Some(LogEntryKind::Started) => LogEntryKind::Step,
                    Some(_) => LogEntryKind::Ended,
                };
                work.sent = Some(kind);
                let (entry, base) = ((work.lease, kind), work.base);
                state.wire.push(SentAppend {
                    worker,
                    entry,
                    base,
                });
            }
            Action::Resend(worker) => {
                let work = state.work[worker]?;
                let append = SentAppend {
                    worker,
                    entry: (work.lease, work.sent?),
                    base: work.base,
                };
                // If the first append is still in transit, sending it again is a failure. Otherwise the first one was
                // lost, which already counted as a failure.
                state.failures_left -= u8::from(state.wire.contains(&append));
                state.wire.push(append);
            }
            Action::Deliver {
                append,
                is_answered,
            } => {
                let place = state.wire.iter().position(|it| *it == append)?;
                state.wire.remove(place);
                let is_good = self.accepts(&state, &append);
                if is_good {
                    state.was_written_without_lease |= state.holder != Some(append.worker);
                    state.log.push(append.entry);
                    if append.entry.1 == LogEntryKind::Ended {
                        state.holder = None;
                    }
                }
                if is_answered {
                    self.answer(&mut state, &append, is_good);
                } else {
                    state.failures_left -= 1;
                }
            }
            Action::Fail(worker, failure) => {
                state.health[worker] = failure;
                state.was_stopped[worker] |= failure == Health::Stopped;
                state.failures_left -= 1;
                if failure == Health::Dead {
                    state.work[worker] = None;
                }
            }
            Action::Recover(worker) => state.health[worker] = Health::Well,
            Action::Surrender(worker) => state.work[worker] = None,
            Action::Reap if *self == Self::ReapWithoutTrace => state.holder = None,
            Action::Reap => state.take_over(),
            Action::Cancel => {
                state.cancel = true;
                state.failures_left -= 1;
                if state.holder.is_none() {
                    state.log.push((state.attempt, LogEntryKind::Ended));
                }
            }
        }
        state.wire.sort_unstable();
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        promises()
    }
}
