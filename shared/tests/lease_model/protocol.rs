//! The actions of the model and their effects.

use stateright::{Model, Property};

use crate::promises;

pub(crate) const WORKERS: usize = 2;
/// The maximum number of failures in one history.
const TROUBLES: u8 = 3;
/// The number of lost workers after which the job fails.
const MAX_CRASHES: u8 = 3;

/// The protocol, whole or with one rule missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Protocol {
    Whole,
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
pub(crate) enum Say {
    Started,
    Step,
    Ended,
    Retried,
}

/// An entry of the log, with the lease of its attempt.
pub(crate) type Entry = (u8, Say);

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
    last: Option<Say>,
    sent: Option<Say>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) lease: u8,
    pub(crate) attempt: u8,
    pub(crate) holder: Option<usize>,
    pub(crate) log: Vec<Entry>,
    pub(crate) crashes: u8,
    pub(crate) cancel: bool,
    pub(crate) health: [Health; WORKERS],
    /// Whether the worker was stopped. A worker that continues does not know at once what it missed.
    pub(crate) has_slept: [bool; WORKERS],
    pub(crate) work: [Option<Work>; WORKERS],
    pub(crate) wire: Vec<SentAppend>,
    pub(crate) troubles: u8,
    /// Whether a worker wrote without holding the job.
    pub(crate) stranger: bool,
    /// Whether a worker removed the job's saved data because it believes that it ended the job.
    pub(crate) cleared: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Act {
    Claim { worker: usize, heard: bool },
    Send(usize),
    Again(usize),
    Arrive { append: SentAppend, heard: bool },
    Ail(usize, Health),
    Recover(usize),
    Surrender(usize),
    Reap,
    Cancel,
}

impl World {
    pub(crate) fn is_over(&self) -> bool {
        self.log.iter().any(|(_, say)| *say == Say::Ended)
    }

    /// Ends or frees the job of a lost worker.
    fn take_over(&mut self) {
        self.crashes += 1;
        let ends = self.cancel || self.crashes == MAX_CRASHES;
        self.log
            .push((self.attempt, if ends { Say::Ended } else { Say::Retried }));
        self.lease += 1;
        self.holder = None;
    }
}

impl Protocol {
    fn accepts(self, world: &World, append: &SentAppend) -> bool {
        let is_held = world.holder.is_some() || self == Self::ReapWithoutTrace;
        let is_fenced = is_held && append.entry.0 == world.lease;
        let follows = self == Self::AppendWithoutBase || append.base == world.log.len();
        let is_free = self == Self::FinishWithoutFence && append.entry.1 == Say::Ended;
        is_free || is_fenced && follows && !world.is_over()
    }

    fn is_written(self, world: &World, append: &SentAppend) -> bool {
        match world.log.get(append.base) {
            Some((attempt, _)) if self == Self::WrittenByNumber => *attempt == append.entry.0,
            Some(entry) => *entry == append.entry,
            None => false,
        }
    }

    /// Whether the holder can be considered lost.
    fn is_silent(self, world: &World, holder: usize) -> bool {
        match world.health[holder] {
            // The worker never learned that it holds the job. The database tells it, and the job is given up.
            Health::Well => self != Self::NothingGivenUp && world.work[holder].is_none(),
            // The worker stops its own work before another worker can start.
            Health::CutOff => world.work[holder].is_none() || self == Self::NoSurrender,
            Health::Stopped | Health::Dead => true,
        }
    }

    fn answer(self, world: &mut World, append: &SentAppend, is_good: bool) {
        let Some(work) = &mut world.work[append.worker].filter(|work| {
            world.health[append.worker] == Health::Well
                && work.lease == append.entry.0
                && work.sent == Some(append.entry.1)
                && work.base == append.base
        }) else {
            return;
        };
        world.work[append.worker] = if !is_good && !self.is_written(world, append) {
            None
        } else if append.entry.1 == Say::Ended {
            world.cleared = true;
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
    type State = World;
    type Action = Act;

    fn init_states(&self) -> Vec<World> {
        vec![World {
            lease: 0,
            attempt: 0,
            holder: None,
            log: Vec::new(),
            crashes: 0,
            cancel: false,
            health: [Health::Well; WORKERS],
            has_slept: [false; WORKERS],
            work: [None; WORKERS],
            wire: Vec::new(),
            troubles: TROUBLES,
            stranger: false,
            cleared: false,
        }]
    }

    fn actions(&self, world: &World, acts: &mut Vec<Act>) {
        let is_trouble_left = world.troubles > 0;
        for worker in 0..WORKERS {
            let (health, work) = (world.health[worker], world.work[worker]);
            if health != Health::Well {
                acts.push(Act::Recover(worker));
            }
            if health == Health::CutOff && work.is_some() && *self != Self::NoSurrender {
                acts.push(Act::Surrender(worker));
            }
            if health == Health::Well {
                match work {
                    None if world.holder.is_none() && !world.is_over() => {
                        acts.push(Act::Claim {
                            worker,
                            heard: true,
                        });
                        acts.extend(is_trouble_left.then_some(Act::Claim {
                            worker,
                            heard: false,
                        }));
                    }
                    Some(Work { sent: None, .. }) => acts.push(Act::Send(worker)),
                    Some(work)
                        if !world
                            .wire
                            .iter()
                            .any(|it| it.worker == worker && it.base == work.base) =>
                    {
                        acts.push(Act::Again(worker));
                    }
                    Some(_) if is_trouble_left => acts.push(Act::Again(worker)),
                    _ => {}
                }
                if is_trouble_left {
                    let ailments = [Health::CutOff, Health::Stopped, Health::Dead];
                    acts.extend(ailments.map(|ailment| Act::Ail(worker, ailment)));
                }
            }
        }
        for append in &world.wire {
            acts.push(Act::Arrive {
                append: *append,
                heard: true,
            });
            acts.extend(is_trouble_left.then_some(Act::Arrive {
                append: *append,
                heard: false,
            }));
        }
        let holder = world.holder.filter(|_| *self != Self::NoReaper);
        if holder.is_some_and(|holder| self.is_silent(world, holder)) {
            acts.push(Act::Reap);
        }
        if !world.cancel && is_trouble_left && !world.is_over() {
            acts.push(Act::Cancel);
        }
    }

    fn next_state(&self, before: &World, act: Act) -> Option<World> {
        let mut world = before.clone();
        match act {
            Act::Claim { worker, heard } => {
                world.lease += 1;
                world.attempt = world.lease;
                world.holder = Some(worker);
                let (lease, base) = (world.lease, world.log.len());
                world.work[worker] = heard.then_some(Work {
                    lease,
                    base,
                    last: None,
                    sent: None,
                });
                world.troubles -= u8::from(!heard);
            }
            Act::Send(worker) => {
                let work = world.work[worker].as_mut()?;
                let say = match work.last {
                    _ if world.cancel => Say::Ended,
                    None => Say::Started,
                    Some(Say::Started) => Say::Step,
                    Some(_) => Say::Ended,
                };
                work.sent = Some(say);
                let (entry, base) = ((work.lease, say), work.base);
                world.wire.push(SentAppend {
                    worker,
                    entry,
                    base,
                });
            }
            Act::Again(worker) => {
                let work = world.work[worker]?;
                let append = SentAppend {
                    worker,
                    entry: (work.lease, work.sent?),
                    base: work.base,
                };
                // If the first append is still in transit, sending it again is a failure. Otherwise the first one was
                // lost, which already counted as a failure.
                world.troubles -= u8::from(world.wire.contains(&append));
                world.wire.push(append);
            }
            Act::Arrive { append, heard } => {
                let place = world.wire.iter().position(|it| *it == append)?;
                world.wire.remove(place);
                let is_good = self.accepts(&world, &append);
                if is_good {
                    world.stranger |= world.holder != Some(append.worker);
                    world.log.push(append.entry);
                    if append.entry.1 == Say::Ended {
                        world.holder = None;
                    }
                }
                if heard {
                    self.answer(&mut world, &append, is_good);
                } else {
                    world.troubles -= 1;
                }
            }
            Act::Ail(worker, ailment) => {
                world.health[worker] = ailment;
                world.has_slept[worker] |= ailment == Health::Stopped;
                world.troubles -= 1;
                if ailment == Health::Dead {
                    world.work[worker] = None;
                }
            }
            Act::Recover(worker) => world.health[worker] = Health::Well,
            Act::Surrender(worker) => world.work[worker] = None,
            Act::Reap if *self == Self::ReapWithoutTrace => world.holder = None,
            Act::Reap => world.take_over(),
            Act::Cancel => {
                world.cancel = true;
                world.troubles -= 1;
                if world.holder.is_none() {
                    world.log.push((world.attempt, Say::Ended));
                }
            }
        }
        world.wire.sort_unstable();
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        promises()
    }
}
