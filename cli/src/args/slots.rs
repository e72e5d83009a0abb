use clap::Args;
use ipnet::IpNet;
use shared::retention::Retention;

/// What a worker takes on, and what it may reach.
#[derive(Args, Clone)]
pub(crate) struct Slots {
    /// Jobs that the worker runs at once
    #[arg(long, env = "SKILLET_SLOTS", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) slots: u32,
    /// Seconds for which a worker may be silent before others take over its jobs; all workers must have the same
    #[arg(
        long = "worker-silence",
        env = "SKILLET_WORKER_SILENCE",
        default_value_t = 5,
        value_name = "SECONDS",
        value_parser = clap::value_parser!(u16).range(1..=600)
    )]
    pub(crate) worker_silence: u16,
    /// A private network that inputs may be fetched from, e.g. 10.0.0.0/8
    #[arg(
        long = "fetch-allow",
        env = "SKILLET_FETCH_ALLOW",
        value_name = "CIDR",
        value_delimiter = ','
    )]
    pub(crate) fetch_allow: Vec<IpNet>,
    /// A private network in which commands may reach the hosts that their skill declares, e.g. 10.0.0.0/8
    #[arg(
        long = "egress-allow",
        env = "SKILLET_EGRESS_ALLOW",
        value_name = "CIDR",
        value_delimiter = ','
    )]
    pub(crate) egress_allow: Vec<IpNet>,
    #[command(flatten)]
    pub(crate) keep: KeepFor,
}

/// How long things are kept that nobody uses any more.
#[derive(Args, Clone)]
pub(crate) struct KeepFor {
    /// How long jobs that have ended stay, with their logs and files: hours or days, or `never` to be removed
    #[arg(
        long = "retention",
        env = "SKILLET_RETENTION",
        default_value = "30d",
        value_name = "TIME"
    )]
    pub(crate) retention: Retention,
    /// How long uploads stay that no job begins with
    #[arg(
        long = "upload-retention",
        env = "SKILLET_UPLOAD_RETENTION",
        default_value = "30d",
        value_name = "TIME"
    )]
    pub(crate) upload_retention: Retention,
}

impl KeepFor {
    /// Nothing is forgotten.
    pub(crate) const EVER: Self = Self {
        retention: Retention::Never,
        upload_retention: Retention::Never,
    };
}
