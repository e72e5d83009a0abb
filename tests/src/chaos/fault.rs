//! Faults that can be injected into a service.

use crate::replication::Loss;

/// A fault, or the repair of a fault.
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
    /// Starts a worker at a place without one.
    Start(usize),
    /// Makes the server terminate one in `one_in` connections to the database.
    Cut {
        /// The number of connections for each terminated one.
        one_in: usize,
    },
    /// SIGSTOP to the server process of a connection, whatever it is doing.
    Hang(Connection),
    /// SIGCONT to the stopped server processes of such connections.
    Resume(Connection),
    /// SIGSTOP to the server process of a connection while it holds no lock, until all jobs have ended.
    HangForGood(Connection),
    /// Crashes the database server and starts it again.
    RestartPostgres,
    /// SIGKILL to an API.
    KillApi(usize),
    /// Starts an API again at its address.
    StartApi(usize),
    /// Restarts an API on a host whose clock is three weeks ahead, until all jobs have ended.
    ClockAhead(usize),
    /// Starts all later workers with the next version.
    Release,
    /// Makes the webhook receivers reject all deliveries.
    ReceiversDown(Outage),
    /// Makes the webhook receivers accept all deliveries again.
    ReceiversUp,
    /// SIGSTOP to the server of the bucket.
    StopBucket,
    /// SIGCONT to the server of the bucket.
    ContinueBucket,
    /// Closes connections to the bucket at once.
    CloseBucket,
    /// Makes the bucket reachable again.
    OpenBucket,
    /// SIGKILL to the connection pooler.
    KillPooler,
    /// Starts the connection pooler again at its address.
    StartPooler,
    /// Makes the primary of the database fail for good.
    LosePrimary(Loss),
    /// Promotes the standby of the database.
    Promote,
}

/// The behavior of webhook receivers during an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outage {
    /// They respond with an error.
    Error,
    /// They close the connection before the response.
    Close,
}

/// A database connection, selected by its purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Connection {
    /// The purpose of the connection.
    pub(crate) purpose: Purpose,
    /// The index among the connections with that purpose, modulo their number.
    pub(crate) which: usize,
}

/// The purpose of a database connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    /// A worker's writes to the log.
    Log,
    /// A worker's claims of jobs.
    Claim,
    /// A worker's heartbeats.
    Heartbeat,
    /// An API's inserts of jobs.
    JobWriter,
    /// An API's reads of new events for all its followers.
    Hub,
    /// A worker's creation and claims of webhook deliveries.
    Dispatcher,
    /// A listener for notifications.
    Listener,
    /// Any of these, or any connection of a pool.
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

    /// Returns the `like` pattern of the connection's latest statement.
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
    /// Returns the name of the fault in the summary.
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

    /// Whether the fault can make a worker lose its job.
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
