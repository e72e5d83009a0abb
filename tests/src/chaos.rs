//! Chaos tests: seeded runs of a whole service whose processes are killed, stopped, cut off and restarted.
//!
//! After a run, rules check its history. The seed determines the jobs, the faults and their times, but not the
//! scheduling of the processes. A run that found a violation may need several repetitions to find it again.

mod accelerated_time;
mod check;
mod client;
mod clock;
mod collect;
mod delivery;
mod deployment;
mod fault;
mod feed;
mod history;
mod interrupt;
mod rolling;
mod schedule;
mod service;
mod setup;
mod upload;
mod workload;

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use chrono::Utc;
use futures_util::future::{join_all, try_join_all};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

pub use check::{Violation, check};
use client::{Client, send_until_answered};
pub use clock::WrongClock;
pub use deployment::Deployment;
pub use fault::Fault;
pub use history::{Asked, Delivered, Download, History, JobHistory, Replay};
pub use interrupt::{Interruption, interrupt};
pub use rolling::{Rolled, roll};
pub use schedule::Schedule;
use schedule::{APIS, Kind, WORKERS};
pub use service::{Access, ChaosService};
pub use setup::Setup;
use upload::Uploader;

/// The worker silence in seconds. It is short to keep runs short, but longer than a busy machine delays a heartbeat.
const SILENCE: u16 = 2;
/// The longest time until the jobs of a run end after the last fault is repaired.
const TIMEOUT: Duration = Duration::from_secs(300);
/// The number of runs with violations after which no more runs begin.
const MAX_BROKEN_RUNS: usize = 5;

/// The options of a series of runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// The setup of each service. Its worker silence is replaced by a shorter one.
    pub setup: Setup,
    /// The seed of the first run. Each later run has the next seed.
    pub seed: u64,
    /// The number of runs.
    pub runs: u64,
    /// The number of services that run concurrently. Each service plays its runs one after the other.
    pub services: usize,
    /// The deployment of the services. If `None`, the seed determines it.
    pub deployment: Option<Deployment>,
}

/// The results of a series of runs.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    /// The number of completed runs.
    pub runs: usize,
    /// The number of submitted jobs.
    pub jobs: usize,
    /// The number of events in the logs of all jobs.
    pub events: usize,
    /// The duration of the longest run in seconds.
    pub longest_seconds: f64,
    /// The number of deliveries that webhook receivers accepted.
    pub deliveries: usize,
    /// The number of these deliveries that were repetitions.
    pub repeated: usize,
    /// The number of jobs by final status.
    pub ends: BTreeMap<String, usize>,
    /// The number of attempts that ended before their job did, by cause.
    pub retries: BTreeMap<String, usize>,
    /// The number of injected faults by name.
    pub faults: BTreeMap<&'static str, usize>,
    /// A report for each run with violations, with the schedule and the relevant logs.
    pub violations: Vec<String>,
}

impl Summary {
    fn add(&mut self, played: &Played) {
        self.runs += 1;
        self.longest_seconds = self.longest_seconds.max(played.took.as_secs_f64());
        self.jobs += played.history.jobs.len();
        for fault in &played.inflicted {
            *self.faults.entry(fault.name()).or_default() += 1;
        }
        for job in &played.history.jobs {
            self.events += job.events.len();
            let different: HashSet<_> = job.delivered.iter().map(|it| &it.id).collect();
            self.deliveries += job.delivered.len();
            self.repeated += job.delivered.len() - different.len();
            let status = job.job["status"].as_str().unwrap_or("unknown");
            *self.ends.entry(status.to_owned()).or_default() += 1;
            for event in job.of_type("job.retrying") {
                let cause = event["data"]["cause"].as_str().unwrap_or_default();
                *self.retries.entry(cause.to_owned()).or_default() += 1;
            }
        }
        self.violations.extend(played.report.clone());
    }
}

/// A completed run.
struct Played {
    /// The faults that were injected.
    inflicted: Vec<Fault>,
    history: History,
    /// The duration of the run.
    took: Duration,
    /// The report, if the run has violations.
    report: Option<String>,
}

/// Plays the runs. `progress` receives the summary after each run.
pub async fn run(options: &Options, mut progress: impl FnMut(&Summary)) -> anyhow::Result<Summary> {
    let groups = deployment::groups(options.seed..options.seed + options.runs);
    let groups = Arc::new(Mutex::new(groups));
    let (sender, mut played) = mpsc::channel(options.services.max(1));
    // Dropping the set also ends the services that are in the middle of a run.
    let mut tasks = JoinSet::new();
    for _ in 0..options.services.max(1) {
        let (options, sender) = (options.clone(), sender.clone());
        let groups = Arc::clone(&groups);
        tasks.spawn(async move {
            let done = play_all(&options, &groups, &sender).await;
            if let Err(error) = done {
                // The receiver may have been dropped.
                let _ = sender.send(Err(error)).await;
            }
        });
    }
    drop(sender);
    let mut summary = Summary::default();
    while let Some(played) = played.recv().await {
        summary.add(&played?);
        progress(&summary);
        if summary.violations.len() >= MAX_BROKEN_RUNS {
            break;
        }
    }
    Ok(summary)
}

/// Plays runs that no other service has taken, one after the other.
async fn play_all(
    options: &Options,
    groups: &Mutex<VecDeque<Range<u64>>>,
    sender: &mpsc::Sender<anyhow::Result<Played>>,
) -> anyhow::Result<()> {
    loop {
        let group = groups
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front();
        let Some(group) = group else {
            return Ok(());
        };
        let deployment = options
            .deployment
            .unwrap_or_else(|| Deployment::of(group.start));
        let deployment = deployment.on_this_machine(&options.setup);
        let mut service: Option<ChaosService> = None;
        for seed in group {
            let schedule = Schedule::of(seed).with_deployment(deployment);
            let schedule = match options.setup.wrong_clock {
                Some(_) => schedule,
                None => schedule.with_right_clocks(),
            };
            let mut own = match service.take() {
                Some(service) => service,
                None => begin(&options.setup, deployment).await?,
            };
            let played = play(&mut own, schedule).await;
            let played = played.with_context(|| format!("the run of seed {seed}"))?;
            // A run with violations may leave its service in a bad state, so the next run gets a new service.
            service = played.report.is_none().then_some(own);
            if sender.send(Ok(played)).await.is_err() {
                return Ok(());
            }
        }
    }
}

async fn begin(setup: &Setup, deployment: Deployment) -> anyhow::Result<ChaosService> {
    let setup = Setup {
        silence: Some(SILENCE),
        ..setup.clone()
    };
    let mut service = ChaosService::start(setup, deployment).await?;
    for _ in 1..APIS {
        service.add_api().await?;
    }
    service.accelerate_deliveries();
    (0..WORKERS).for_each(|place| service.start_worker(place));
    service.until_workers(WORKERS).await?;
    Ok(service)
}

/// Plays a schedule in a healthy service and leaves the service healthy.
async fn play(service: &mut ChaosService, schedule: Schedule) -> anyhow::Result<Played> {
    let run = format!("run-{}", schedule.seed);
    let keys = (0..schedule.jobs.len()).map(|number| format!("{run}.{number}"));
    let planned: Vec<_> = keys.zip(schedule.jobs.iter().cloned()).collect();
    workload::script(&service.model, &run, &planned);
    let conversation = begin_conversation(service, &planned).await?;
    let clients: Vec<_> = planned
        .into_iter()
        .map(|(key, plan)| Client {
            access: service.access(plan.api),
            key,
            plan,
            conversation: conversation.clone(),
            seen: Mutex::default(),
        })
        .collect();
    let (begun_at, wall_begun_at) = (Instant::now(), Utc::now());
    let uploaders = Uploader::all(service, &run);
    let living = async {
        let uploading = join_all(uploaders.iter().map(|it| it.live(begun_at)));
        let living = try_join_all(clients.iter().map(|client| client.live(begun_at)));
        tokio::join!(uploading, living).1
    };
    let mut inflicted = Vec::new();
    let trouble = async {
        for (at, fault) in &schedule.faults {
            sleep_until(begun_at + *at).await;
            let done = service.inflict(*fault).await;
            if done.with_context(|| format!("{fault:?}"))? {
                inflicted.push(*fault);
            }
        }
        service.heal().await
    };
    let lived = timeout(TIMEOUT, async { tokio::try_join!(living, trouble) }).await;
    let is_over = lived.is_ok();
    if let Ok(lived) = lived {
        lived?;
    }
    service.reset().await?;
    let mut history = collect::collect(service, &run, &clients).await?;
    history.span = (wall_begun_at, Utc::now());
    history.lost_files = uploaders.iter().flat_map(Uploader::lost).collect();
    let losses = inflicted.iter().filter(|fault| fault.may_lose_a_worker());
    history.losses = losses.count();
    if !is_over {
        let fault = "not all clients came to the end of their job in time";
        history.process_violations.push(fault.to_owned());
    }
    service.forget_later(run);
    let violations = check(&history);
    let report =
        (!violations.is_empty()).then(|| describe(service, &schedule, &history, &violations));
    Ok(Played {
        took: begun_at.elapsed(),
        inflicted,
        history,
        report,
    })
}

/// Creates the conversation of a run if one of its jobs needs it, and returns its id or an empty string.
async fn begin_conversation(
    service: &ChaosService,
    planned: &[(String, schedule::Planned)],
) -> anyhow::Result<String> {
    if !planned
        .iter()
        .any(|(_, job)| job.kind == Kind::Conversation)
    {
        return Ok(String::new());
    }
    let request = service
        .access(0)
        .request(0, reqwest::Method::POST, "/v1/conversations");
    let request = request.json(&serde_json::json!({"agent": "default"}));
    let (_, conversation) = send_until_answered(&request).await;
    let id = conversation["id"].as_str();
    Ok(id.context("a conversation has an id")?.to_owned())
}

/// Writes the report of a run with violations: the schedule, the violations, and the logs of the jobs and processes.
fn describe(
    service: &ChaosService,
    schedule: &Schedule,
    history: &History,
    violations: &[Violation],
) -> String {
    let mut report = format!("{:?}, {schedule}\n", service.deployment);
    for Violation { key, what } in violations {
        report += &format!(
            "VIOLATION {}: {what}\n",
            key.as_deref().unwrap_or("of the run")
        );
    }
    let broken = history.jobs.iter().filter(|job| {
        let mut keys = violations
            .iter()
            .filter_map(|violation| violation.key.as_ref());
        keys.any(|key| *key == job.key)
    });
    for job in broken {
        report += &format!("\nthe log of {} ({}):\n", job.key, job.accepted.join(", "));
        job.events
            .iter()
            .for_each(|event: &Value| report += &format!("{event}\n"));
        let ids: Vec<_> = job.accepted.iter().map(String::as_str).collect();
        report += &format!(
            "what the processes said of it:\n{}",
            service.log_lines("worker", &ids)
        );
    }
    for called in ["worker", "api"] {
        // A process that exits with an error logs `error: `.
        let warnings = service.log_lines(called, &["WARN", "ERROR", "error: "]);
        report += &format!("\nwarnings of {called}:\n{warnings}");
    }
    report
}
