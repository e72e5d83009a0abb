//! What is asked of the service in a run, and what is done to it meanwhile: all of it out of the seed.

use std::fmt;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Workers of a service.
pub(crate) const WORKERS: usize = 3;
/// Tenants of a service.
pub(crate) const TENANTS: usize = 2;
/// The time in which jobs are sent.
const SENDING_MS: u64 = 900;
/// The time in which things are done to the service.
const TROUBLE_MS: u64 = 1_500;

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
}

/// What is done to the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// SIGKILL to a worker.
    Kill(usize),
    /// SIGSTOP to a worker.
    Stop(usize),
    /// SIGCONT to a worker.
    Continue(usize),
    /// SIGTERM to a worker.
    Drain(usize),
    /// A worker begins where there is none.
    Start(usize),
    /// One in so many connections to the database is cut by the server.
    Cut {
        /// How many there are for one that is cut.
        one_in: usize,
    },
    /// The database server ends at once, and starts again.
    RestartPostgres,
    /// SIGKILL to the API.
    KillApi,
    /// The API begins again where it was.
    StartApi,
}

impl Fault {
    /// What is counted.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kill(_) => "workers killed",
            Self::Stop(_) => "workers stopped for a while",
            Self::Continue(_) => "workers continued",
            Self::Drain(_) => "workers drained",
            Self::Start(_) => "workers started",
            Self::Cut { .. } => "times connections were cut",
            Self::RestartPostgres => "restarts of Postgres",
            Self::KillApi => "APIs killed",
            Self::StartApi => "APIs started",
        }
    }
}

impl Schedule {
    /// The run of that seed.
    pub fn of(seed: u64) -> Self {
        let random = &mut StdRng::seed_from_u64(seed);
        let mut jobs: Vec<_> = (0..random.random_range(6..=10))
            .map(|_| Planned::any(random))
            .collect();
        jobs.sort_by_key(|job| job.at);
        let mut faults = Vec::new();
        for _ in 0..random.random_range(1..=4) {
            add_fault(random, &mut faults);
        }
        faults.sort_by_key(|(at, _)| *at);
        Self { seed, jobs, faults }
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
        // Whoever comes later in a conversation would be shown what a job that was cut short left.
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
            cancel_after,
            hangs_up: random.random_ratio(1, 4),
            patience: random.random_range(1..=20),
        }
    }
}

/// Adds something that goes wrong, and what brings things in order again.
fn add_fault(random: &mut StdRng, faults: &mut Vec<(Duration, Fault)>) {
    let at = Duration::from_millis(random.random_range(0..TROUBLE_MS));
    let later = |millis| at + Duration::from_millis(millis);
    let worker = random.random_range(0..WORKERS);
    match random.random_range(0..10) {
        0..=2 => {
            faults.push((at, Fault::Kill(worker)));
            let start_at = later(random.random_range(0..500));
            faults.push((start_at, Fault::Start(worker)));
        }
        3 | 4 => {
            // From shorter to longer than it may be silent.
            faults.push((at, Fault::Stop(worker)));
            let wake_at = later(random.random_range(300..3_500));
            faults.push((wake_at, Fault::Continue(worker)));
        }
        5 => {
            faults.push((at, Fault::Drain(worker)));
            faults.push((at, Fault::Start(worker)));
        }
        6 => {
            for worker in 0..WORKERS {
                let at = later(300 * worker as u64);
                faults.extend([(at, Fault::Drain(worker)), (at, Fault::Start(worker))]);
            }
        }
        7 => {
            let one_in = random.random_range(1..=4);
            faults.push((at, Fault::Cut { one_in }));
        }
        8 => faults.push((at, Fault::RestartPostgres)),
        _ => {
            faults.push((at, Fault::KillApi));
            let start_at = later(random.random_range(0..500));
            faults.push((start_at, Fault::StartApi));
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}", self.seed)?;
        for (number, job) in self.jobs.iter().enumerate() {
            let Planned { at, kind, .. } = job;
            write!(f, "{:5} ms  job {number}, {kind:?}", at.as_millis())?;
            write!(f, " of tenant {}", job.tenant)?;
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
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_run_each_time_and_another_one_another() {
        assert_eq!(Schedule::of(7).to_string(), Schedule::of(7).to_string());
        assert_ne!(Schedule::of(7).to_string(), Schedule::of(8).to_string());
    }

    #[test]
    fn whatever_goes_wrong_is_brought_in_order_again() {
        for seed in 0..200 {
            let faults = Schedule::of(seed).faults;
            let count = |wanted: fn(&Fault) -> bool| {
                faults.iter().filter(|(_, fault)| wanted(fault)).count()
            };
            let ended = count(|fault| matches!(fault, Fault::Kill(_) | Fault::Drain(_)));
            assert_eq!(ended, count(|fault| matches!(fault, Fault::Start(_))));
            let stopped = count(|fault| matches!(fault, Fault::Stop(_)));
            assert_eq!(stopped, count(|fault| matches!(fault, Fault::Continue(_))));
        }
    }
}
