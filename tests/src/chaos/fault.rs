//! Faults that are injected into a service.

use crate::replication::Loss;

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
    /// SIGSTOP to the server's process of a connection, whatever it is doing.
    Hang(Connection),
    /// SIGCONT to those of such connections.
    Resume(Connection),
    /// SIGSTOP to the server's process of a connection while it holds no lock, until all jobs have ended.
    HangForGood(Connection),
    /// The database server ends at once, and starts again.
    RestartPostgres,
    /// SIGKILL to an API.
    KillApi(usize),
    /// An API begins again where it was.
    StartApi(usize),
    /// An API begins again on a host whose clock is three weeks ahead, until all jobs have ended.
    ClockAhead(usize),
    /// Workers that begin from now on are of the next version.
    Release,
    /// The receivers of webhooks accept nothing.
    ReceiversDown(Outage),
    /// The receivers of webhooks accept everything again.
    ReceiversUp,
    /// SIGSTOP to the server of the bucket.
    StopBucket,
    /// SIGCONT to the server of the bucket.
    ContinueBucket,
    /// Connections to the bucket end at once.
    CloseBucket,
    /// The bucket is within reach again.
    OpenBucket,
    /// SIGKILL to the connection pooler.
    KillPooler,
    /// The connection pooler begins again where it was.
    StartPooler,
    /// The primary of the database is lost. It does not come back.
    LosePrimary(Loss),
    /// The standby of the database becomes the primary.
    Promote,
}

/// What receivers of webhooks do that accept nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outage {
    /// They answer with an error.
    Error,
    /// They close the connection before the answer.
    Close,
}

/// A connection to the database, by whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Connection {
    /// What it is for.
    pub(crate) purpose: Purpose,
    /// Which of those with that purpose.
    pub(crate) which: usize,
}

/// What a connection to the database is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    /// A worker writes its logs.
    Log,
    /// A worker claims jobs.
    Claim,
    /// A worker says that it is alive.
    Heartbeat,
    /// An API accepts jobs.
    JobWriter,
    /// An API reads new events for all its followers.
    Hub,
    /// A worker turns milestones into deliveries to webhooks, or claims deliveries.
    Dispatcher,
    /// Waiting for notifications.
    Listener,
    /// Any of these, or one of a pool.
    Any,
}

impl Purpose {
    pub(crate) const ALL: [Self; 8] = [
        Self::Log,
        Self::Claim,
        Self::Heartbeat,
        Self::JobWriter,
        Self::Hub,
        Self::Dispatcher,
        Self::Listener,
        Self::Any,
    ];

    /// What its last statement is like.
    pub(crate) fn statement(self) -> &'static str {
        match self {
            Self::Log => "%with append as materialized%",
            Self::Claim => "%(run).claimed_at%",
            Self::Heartbeat => "update worker set heartbeat_at%",
            Self::JobWriter => "%with new as materialized%",
            Self::Hub => "%as followed (job_id, after)%",
            Self::Dispatcher => "%from webhook\\_%",
            Self::Listener => "LISTEN%",
            Self::Any => "%",
        }
    }
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
            Self::Hang(_) => "connections hung for a while",
            Self::Resume(_) => "connections resumed",
            Self::HangForGood(_) => "connections hung for good",
            Self::RestartPostgres => "restarts of Postgres",
            Self::KillApi(_) => "APIs killed",
            Self::StartApi(_) => "APIs started",
            Self::ClockAhead(_) => "clocks three weeks ahead",
            Self::Release => "updates of all workers",
            Self::ReceiversDown(_) => "outages of webhook receivers",
            Self::ReceiversUp => "ends of such outages",
            Self::StopBucket => "buckets stopped for a while",
            Self::ContinueBucket => "buckets continued",
            Self::CloseBucket => "buckets cut off",
            Self::OpenBucket => "buckets within reach again",
            Self::KillPooler => "poolers killed",
            Self::StartPooler => "poolers started",
            Self::LosePrimary(_) => "primaries lost",
            Self::Promote => "standbys promoted",
        }
    }

    /// Whether a job may be lost by its worker because of it.
    pub(crate) fn may_lose_a_worker(self) -> bool {
        match self {
            Self::Kill(_)
            | Self::Stop(_)
            | Self::Cut { .. }
            | Self::Hang(_)
            | Self::HangForGood(_)
            | Self::RestartPostgres
            | Self::KillPooler
            | Self::LosePrimary(_) => true,
            Self::Continue(_)
            | Self::Drain(_)
            | Self::Start(_)
            | Self::Resume(_)
            | Self::KillApi(_)
            | Self::StartApi(_)
            | Self::ClockAhead(_)
            | Self::Release
            | Self::ReceiversDown(_)
            | Self::ReceiversUp
            | Self::StopBucket
            | Self::ContinueBucket
            | Self::CloseBucket
            | Self::OpenBucket
            | Self::StartPooler
            | Self::Promote => false,
        }
    }
}
