//! The schedule of a run, made from its seed: requests and faults.

use std::fmt;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::deployment::Deployment;
use super::fault::{Connection, Fault, Outage, Purpose};
use super::haste::HASTE;
use crate::replication::Loss;

/// Workers of a service.
pub(crate) const WORKERS: usize = 3;
/// APIs of a service.
pub(crate) const APIS: usize = 2;
/// The one of them whose host's clock may be wrong.
const API_WITH_WRONG_CLOCK: usize = 1;
/// Tenants of a service.
pub(crate) const TENANTS: usize = 2;
/// The time in which jobs are sent.
const SENDING_MS: u64 = 900;
/// The time in which things are done to the service.
const TROUBLE_MS: u64 = 1_500;
/// The longest that a connection hangs, if it is not for good.
const MAX_HANG_MS: u64 = 12_000;
/// The length of an outage of the receivers: an hour, as fast as it passes for deliveries.
const OUTAGE: Duration = Duration::from_millis(3_600_000 / HASTE as u64);
/// The longest outage of a bucket, a pooler or a primary. From shorter to longer than a worker may be silent.
const MAX_AWAY_MS: u64 = 4_000;
/// Between workers that are replaced one after the other.
const REPLACE_PAUSE: Duration = Duration::from_millis(300);

/// A run.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// What it was made from.
    pub seed: u64,
    /// In order of time.
    pub(crate) jobs: Vec<Planned>,
    /// In order of time.
    pub(crate) faults: Vec<(Duration, Fault)>,
}

/// A job that will be sent.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) at: Duration,
    pub(crate) kind: Kind,
    /// Whose it is.
    pub(crate) tenant: usize,
    /// The API that its client speaks to.
    pub(crate) api: usize,
    /// When the client asks for its end.
    pub(crate) cancel_after: Option<Duration>,
    /// The client hangs up on the answer, and asks again under the same key.
    pub(crate) hangs_up: bool,
    /// The follower hangs up each time after so many events.
    pub(crate) patience: usize,
}

/// What a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Nothing.
    Idle,
    /// Commands of a script, each of which adds a line to a file.
    Script { turns: usize },
    /// The same at the word of a model that streams.
    Loop { turns: usize },
    /// Makes a page, and gives it as an output.
    Output,
    /// Calls that wait for a person, who says this to them.
    Approval { approved: bool },
    /// A turn in the conversation that all such jobs of the run share.
    Conversation,
    /// Calls, in a request that only workers of the next version can read.
    NextVersion,
}

impl Schedule {
    /// The run of that seed.
    pub fn of(seed: u64) -> Self {
        let random = &mut StdRng::seed_from_u64(seed);
        let mut schedule = Self {
            seed,
            jobs: (0..random.random_range(6..=10))
                .map(|_| Planned::any(random))
                .collect(),
            faults: Vec::new(),
        };
        for _ in 0..random.random_range(1..=4) {
            schedule.add_fault(random);
        }
        if random.random_ratio(1, 3) {
            schedule.add_outage(random);
        }
        schedule.jobs.sort_by_key(|job| job.at);
        schedule.faults.sort_by_key(|(at, _)| *at);
        schedule
    }

    /// The same with clocks that are right.
    pub(crate) fn with_right_clocks(mut self) -> Self {
        let is_wrong = |fault: &Fault| matches!(fault, Fault::ClockAhead(_));
        self.faults.retain(|(_, fault)| !is_wrong(fault));
        self
    }

    /// The same with faults of what the service is deployed with, and without those that it cannot have.
    pub(crate) fn with_deployment(mut self, deployment: Deployment) -> Self {
        let random = &mut StdRng::seed_from_u64(self.seed);
        if deployment.bucket {
            for _ in 0..random.random_range(1..=2) {
                let (begin, end) = match random.random() {
                    true => (Fault::StopBucket, Fault::ContinueBucket),
                    false => (Fault::CloseBucket, Fault::OpenBucket),
                };
                self.add_absence(random, begin, end);
            }
        }
        if deployment.pooler {
            for _ in 0..random.random_range(1..=2) {
                self.add_absence(random, Fault::KillPooler, Fault::StartPooler);
            }
        }
        if deployment.standby {
            self.remove_what_needs_one_server();
            let losses = [Loss::Killed, Loss::Silent, Loss::ReadOnly, Loss::CutOff];
            let loss = losses[random.random_range(0..losses.len())];
            self.add_absence(random, Fault::LosePrimary(loss), Fault::Promote);
        }
        self.faults.sort_by_key(|(at, _)| *at);
        self
    }

    /// Removes restarts of the one server, and updates to the next version, which reaches it by its socket.
    fn remove_what_needs_one_server(&mut self) {
        self.jobs.retain(|job| job.kind != Kind::NextVersion);
        let needs_one = |fault: &Fault| matches!(fault, Fault::RestartPostgres | Fault::Release);
        self.faults.retain(|(_, fault)| !needs_one(fault));
    }

    /// Adds the beginning and the end of an absence.
    fn add_absence(&mut self, random: &mut StdRng, begin: Fault, end: Fault) {
        let at = Duration::from_millis(random.random_range(0..TROUBLE_MS));
        let back_at = at + Duration::from_millis(random.random_range(0..MAX_AWAY_MS));
        self.add([(at, begin), (back_at, end)]);
    }

    /// Adds something that goes wrong, and what brings things in order again.
    fn add_fault(&mut self, random: &mut StdRng) {
        let at = Duration::from_millis(random.random_range(0..TROUBLE_MS));
        let later = |millis| at + Duration::from_millis(millis);
        let worker = random.random_range(0..WORKERS);
        match random.random_range(0..16) {
            0..=2 => {
                let start_at = later(random.random_range(0..500));
                self.add([(at, Fault::Kill(worker)), (start_at, Fault::Start(worker))]);
            }
            3 | 4 => {
                // From shorter to longer than it may be silent.
                let wake_at = later(random.random_range(300..3_500));
                self.add([
                    (at, Fault::Stop(worker)),
                    (wake_at, Fault::Continue(worker)),
                ]);
            }
            5 => self.add([(at, Fault::Drain(worker)), (at, Fault::Start(worker))]),
            6 => self.replace_workers(at),
            7 => {
                let one_in = random.random_range(1..=4);
                self.add([(at, Fault::Cut { one_in })]);
            }
            8 => self.add([(at, Fault::RestartPostgres)]),
            9 => {
                let api = random.random_range(0..APIS);
                let start_at = later(random.random_range(0..500));
                self.add([(at, Fault::KillApi(api)), (start_at, Fault::StartApi(api))]);
            }
            10 | 11 => {
                // From shorter to longer than a statement may take.
                let connection = Connection::any(random);
                let resume_at = later(random.random_range(300..MAX_HANG_MS));
                self.add([
                    (at, Fault::Hang(connection)),
                    (resume_at, Fault::Resume(connection)),
                ]);
            }
            12 => self.add([(at, Fault::HangForGood(Connection::any(random)))]),
            // From before the first job.
            13 => self.add([(Duration::ZERO, Fault::ClockAhead(API_WITH_WRONG_CLOCK))]),
            _ => self.add_update(at, random),
        }
    }

    /// Adds an outage of the receivers of webhooks.
    fn add_outage(&mut self, random: &mut StdRng) {
        let at = Duration::from_millis(random.random_range(0..TROUBLE_MS));
        let outage = if random.random() {
            Outage::Error
        } else {
            Outage::Close
        };
        self.add([
            (at, Fault::ReceiversDown(outage)),
            (at + OUTAGE, Fault::ReceiversUp),
        ]);
    }

    fn add<const COUNT: usize>(&mut self, faults: [(Duration, Fault); COUNT]) {
        self.faults.extend(faults);
    }

    /// Replaces one worker after the other.
    fn replace_workers(&mut self, begin_at: Duration) {
        for worker in 0..WORKERS {
            let at = begin_at + REPLACE_PAUSE * worker as u32;
            self.add([(at, Fault::Drain(worker)), (at, Fault::Start(worker))]);
        }
    }

    /// A rolling update of the workers, and a job that those of this version cannot run.
    fn add_update(&mut self, at: Duration, random: &mut StdRng) {
        self.jobs.push(Planned {
            kind: Kind::NextVersion,
            ..Planned::any(random)
        });
        self.add([(at, Fault::Release)]);
        self.replace_workers(at);
    }
}

impl Connection {
    fn any(random: &mut StdRng) -> Self {
        Self {
            purpose: Purpose::ALL[random.random_range(0..Purpose::ALL.len())],
            which: random.random_range(0..WORKERS),
        }
    }
}

impl Planned {
    fn any(random: &mut StdRng) -> Self {
        let kind = match random.random_range(0..12) {
            0 => Kind::Idle,
            1..=3 => Kind::Script {
                turns: random.random_range(2..=4),
            },
            4..=6 => Kind::Loop {
                turns: random.random_range(2..=5),
            },
            7 | 8 => Kind::Output,
            9 => Kind::Approval {
                approved: random.random_ratio(2, 3),
            },
            _ => Kind::Conversation,
        };
        // A later job of the conversation would be shown what an interrupted job left.
        let may_cancel = kind != Kind::Conversation && random.random_ratio(1, 6);
        let cancel_after =
            may_cancel.then(|| Duration::from_millis(random.random_range(0..TROUBLE_MS)));
        Self {
            at: Duration::from_millis(random.random_range(0..SENDING_MS)),
            kind,
            tenant: match kind {
                Kind::Conversation => 0,
                _ => random.random_range(0..TENANTS),
            },
            api: random.random_range(0..APIS),
            cancel_after,
            hangs_up: random.random_ratio(1, 4),
            patience: random.random_range(1..=20),
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}", self.seed)?;
        for (number, job) in self.jobs.iter().enumerate() {
            let Planned { at, kind, .. } = job;
            write!(f, "{:5} ms  job {number}, {kind:?}", at.as_millis())?;
            write!(f, " of tenant {} at API {}", job.tenant, job.api)?;
            if let Some(after) = job.cancel_after {
                write!(f, ", cancelled after {} ms", after.as_millis())?;
            }
            if job.hangs_up {
                write!(f, ", sent twice")?;
            }
            writeln!(f, ", followed {} events at a time", job.patience)?;
        }
        for (at, fault) in &self.faults {
            writeln!(f, "{:5} ms  {fault:?}", at.as_millis())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
