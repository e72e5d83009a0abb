//! The parts of the benchmark.

use clap::ValueEnum;

use crate::figure::Figure;
use crate::{
    Bench, approvals, claim, core, deltas, enqueue, feed, followers, jobs, million, notify, peers,
    pooler, quota, reconnects, sandbox, start, storm, submit, takeover, ticks, turns, waiting,
    webhooks,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// No-op jobs from the claim to the end, compared with the minimum work of any queue
    Core,
    /// Accepting jobs, one by one and in thousands
    Enqueue,
    /// Latency from the commit of a job to its handler
    Start,
    /// Latency from the request to `job.started`
    Submit,
    /// Whole jobs over HTTP, with one model call and with ten
    Jobs,
    /// Latency of events to followers, and memory per follower
    Followers,
    /// Followers that all reconnect at once
    Reconnects,
    /// Concurrent writers of logs, and the cost of notifications
    Notify,
    /// Live output: rows and bytes per job
    Deltas,
    /// Cost of the feed, and latency of milestones on a tenant's stream
    Feed,
    /// Latency of milestones to webhooks, and the delivery rate
    Webhooks,
    /// Cost of a turn
    Loop,
    /// Memory of jobs that wait for their model
    Waiting,
    /// Jobs that wait for approval
    Approvals,
    /// Processes that share database sessions through PgBouncer
    Pooler,
    /// A provider's quota that workers share, and a provider that is down
    Quota,
    /// Cost of a command in its sandbox
    Sandbox,
    /// Number of pages that a claim reads
    Claim,
    /// Schedules that are all due at once
    Schedules,
    /// Takeover of jobs from a worker that is killed or stopped
    Takeover,
    /// Workers that end and start every second
    Storm,
    /// Very many jobs of ten turns in one run; only if named
    Million,
    /// Other queues on the same Postgres, installed with npm and pip; only if named
    Peers,
}

impl Part {
    /// Returns the parts that are measured by default: those that need only Postgres and do not take hours.
    pub(crate) fn ours() -> Vec<Self> {
        let all = Self::value_variants().iter().copied();
        all.filter(|part| !matches!(part, Self::Million | Self::Peers))
            .collect()
    }

    pub(crate) async fn measure(self, bench: &Bench) -> anyhow::Result<Vec<Figure>> {
        match self {
            Self::Core => core::measure(bench).await,
            Self::Enqueue => enqueue::measure(bench).await,
            Self::Start => start::measure(bench).await,
            Self::Submit => submit::measure(bench).await,
            Self::Jobs => jobs::measure(bench).await,
            Self::Followers => followers::measure(bench).await,
            Self::Reconnects => reconnects::measure(bench).await,
            Self::Notify => notify::measure(bench).await,
            Self::Deltas => deltas::measure(bench).await,
            Self::Feed => feed::measure(bench).await,
            Self::Webhooks => webhooks::measure(bench).await,
            Self::Loop => turns::measure(bench).await,
            Self::Waiting => waiting::measure(bench).await,
            Self::Approvals => approvals::measure(bench).await,
            Self::Pooler => pooler::measure(bench).await,
            Self::Quota => quota::measure(bench).await,
            Self::Sandbox => sandbox::measure().await,
            Self::Claim => claim::measure(bench).await,
            Self::Schedules => ticks::measure(bench).await,
            Self::Takeover => takeover::measure(bench).await,
            Self::Storm => storm::measure(bench).await,
            Self::Million => million::measure(bench).await,
            Self::Peers => peers::measure(bench).await,
        }
    }
}
