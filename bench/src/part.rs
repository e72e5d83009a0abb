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
    /// No-op jobs from the claim to the end, beside the least that any queue has to do
    Core,
    /// Accepting jobs, one by one and in thousands
    Enqueue,
    /// From the commit of a job to its handler
    Start,
    /// From the request to `job.started`
    Submit,
    /// Whole jobs over HTTP, with one model call and with ten
    Jobs,
    /// Events to their followers, and what a follower takes
    Followers,
    /// Followers that reconnect all at once
    Reconnects,
    /// Writers of logs at once: what notifications cost
    Notify,
    /// Live output: rows and bytes of a job
    Deltas,
    /// What the feed costs, and milestones to a tenant's stream
    Feed,
    /// Milestones to webhooks
    Webhooks,
    /// A turn of the loop
    Loop,
    /// Jobs that wait for their model
    Waiting,
    /// Jobs that wait for a person
    Approvals,
    /// Processes that share sessions by a pooler
    Pooler,
    /// A provider's quota that workers share, and a provider that is down
    Quota,
    /// A command in its sandbox
    Sandbox,
    /// What a claim reads
    Claim,
    /// Times of schedules that come all at once
    Schedules,
    /// A killed worker's jobs
    Takeover,
    /// Workers that end and start each second
    Storm,
    /// Very many jobs of ten turns in one go; only if named
    Million,
    /// Other queues on the same Postgres, which npm and pip install; only if named
    Peers,
}

impl Part {
    /// All that is measured if nothing is named: those that need nothing but Postgres and not hours.
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
