//! The schedule of a run: the requests and faults generated from its seed.

use std::fmt;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::accelerated_time::TIME_FACTOR;
use super::deployment::Deployment;
use super::fault::{Connection, Fault, Outage, Purpose};
use crate::replication::Loss;

/// The number of workers of a service.
pub(crate) const WORKERS: usize = 3;
/// The number of APIs of a service.
pub(crate) const APIS: usize = 2;
/// The API whose host clock may be wrong.
const API_WITH_WRONG_CLOCK: usize = 1;
/// The number of tenants of a service.
pub(crate) const TENANTS: usize = 2;
/// The period in which jobs are submitted.
const SUBMIT_PERIOD_MS: u64 = 900;
/// The period in which faults begin.
const FAULT_PERIOD_MS: u64 = 1_500;
/// The longest time that a connection hangs, unless it hangs for good.
const MAX_HANG_MS: u64 = 12_000;
/// The length of an outage of the receivers: an hour of accelerated time.
const OUTAGE: Duration = Duration::from_millis(3_600_000 / TIME_FACTOR as u64);
/// The longest outage of a bucket, a pooler or a primary. Outages can be shorter or longer than the worker silence.
const MAX_AWAY_MS: u64 = 4_000;
/// The pause between the replacements of two workers.
const REPLACE_PAUSE: Duration = Duration::from_millis(300);

/// The schedule of a run.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The seed of the schedule.
    pub seed: u64,
    /// The jobs, ordered by time.
    pub(crate) jobs: Vec<Planned>,
    /// The faults, ordered by time.
    pub(crate) faults: Vec<(Duration, Fault)>,
}

/// A job to be submitted.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) at: Duration,
    pub(crate) kind: Kind,
    /// The number of the tenant that owns the job.
    pub(crate) tenant: usize,
    /// The number of the API that the client uses.
    pub(crate) api: usize,
    /// The time after which the client cancels the job.
    pub(crate) cancel_after: Option<Duration>,
    /// Whether the client hangs up before the response, and then sends the request again with the same key.
    pub(crate) hangs_up: bool,
    /// The number of events after which the follower hangs up each time.
    pub(crate) patience: usize,
}

/// The work of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// No work.
    Idle,
    /// The commands of a script. Each adds a line to a file.
    Script { turns: usize },
    /// The same commands, called by a streaming model.
    Loop { turns: usize },
    /// The creation of a page that becomes an output.
    Output,
    /// Tool calls that need an approval, which is granted or denied.
    Approval { approved: bool },
    /// A turn in the conversation that all jobs of this kind in the run share.
    Conversation,
    /// Tool calls of a request that only workers of the next version can read.
    NextVersion,
}

impl Schedule {
    /// Generates the schedule of a seed.
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

    /// Removes the faults of clocks.
    pub(crate) fn with_right_clocks(mut self) -> Self {
        let is_wrong = |fault: &Fault| matches!(fault, Fault::ClockAhead(_));
        self.faults.retain(|(_, fault)| !is_wrong(fault));
        self
    }

    /// Adds the faults of a deployment and removes faults that are impossible with it.
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

    /// Removes server restarts and updates to the next version, which needs the Unix socket of a single server.
    fn remove_what_needs_one_server(&mut self) {
        self.jobs.retain(|job| job.kind != Kind::NextVersion);
        let needs_one = |fault: &Fault| matches!(fault, Fault::RestartPostgres | Fault::Release);
        self.faults.retain(|(_, fault)| !needs_one(fault));
    }

    /// Adds the beginning and the end of an outage.
    fn add_absence(&mut self, random: &mut StdRng, begin: Fault, end: Fault) {
        let at = Duration::from_millis(random.random_range(0..FAULT_PERIOD_MS));
        let back_at = at + Duration::from_millis(random.random_range(0..MAX_AWAY_MS));
        self.add([(at, begin), (back_at, end)]);
    }

    /// Adds a fault and its repair.
    fn add_fault(&mut self, random: &mut StdRng) {
        let at = Duration::from_millis(random.random_range(0..FAULT_PERIOD_MS));
        let later = |millis| at + Duration::from_millis(millis);
        let worker = random.random_range(0..WORKERS);
        match random.random_range(0..16) {
            0..=2 => {
                let start_at = later(random.random_range(0..500));
                self.add([(at, Fault::Kill(worker)), (start_at, Fault::Start(worker))]);
            }
            3 | 4 => {
                // The pause can be shorter or longer than the worker silence.
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
                // The pause can be shorter or longer than the statement timeout.
                let connection = Connection::any(random);
                let resume_at = later(random.random_range(300..MAX_HANG_MS));
                self.add([
                    (at, Fault::Hang(connection)),
                    (resume_at, Fault::Resume(connection)),
                ]);
            }
            12 => self.add([(at, Fault::HangForGood(Connection::any(random)))]),
            // The clock is wrong from the start of the run.
            13 => self.add([(Duration::ZERO, Fault::ClockAhead(API_WITH_WRONG_CLOCK))]),
            _ => self.add_update(at, random),
        }
    }

    /// Adds an outage of the webhook receivers.
    fn add_outage(&mut self, random: &mut StdRng) {
        let at = Duration::from_millis(random.random_range(0..FAULT_PERIOD_MS));
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

    /// Adds a rolling update of the workers, and a job that workers of the current version cannot run.
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
        // A cancelled job would leave a partial turn in the conversation, where later jobs would see it.
        let may_cancel = kind != Kind::Conversation && random.random_ratio(1, 6);
        let cancel_after =
            may_cancel.then(|| Duration::from_millis(random.random_range(0..FAULT_PERIOD_MS)));
        Self {
            at: Duration::from_millis(random.random_range(0..SUBMIT_PERIOD_MS)),
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
