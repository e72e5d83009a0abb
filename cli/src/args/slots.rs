//! Capacity, network access and retention of a worker.

use clap::Args;
use ipnet::IpNet;
use shared::retention::Retention;

/// Capacity and network access of a worker.
#[derive(Args, Clone)]
pub(crate) struct Slots {
    /// The number of jobs that the worker runs at once
    #[arg(long, env = "SKILLET_SLOTS", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) slots: u32,
    /// The seconds without a heartbeat after which other workers take over the jobs of a worker. Must be the same for
    /// all workers
    #[arg(
        long = "worker-silence",
        env = "SKILLET_WORKER_SILENCE",
        default_value_t = 5,
        value_name = "SECONDS",
        value_parser = clap::value_parser!(u16).range(1..=600)
    )]
    pub(crate) worker_silence: u16,
    /// A private network that inputs may be fetched from, such as 10.0.0.0/8 (repeatable)
    #[arg(
        long = "fetch-allow",
        env = "SKILLET_FETCH_ALLOW",
        value_name = "CIDR",
        value_delimiter = ','
    )]
    pub(crate) fetch_allow: Vec<IpNet>,
    /// A private network that the tools and commands of jobs may reach, such as 10.0.0.0/8 (repeatable)
    #[arg(
        long = "egress-allow",
        env = "SKILLET_EGRESS_ALLOW",
        value_name = "CIDR",
        value_delimiter = ','
    )]
    pub(crate) egress_allow: Vec<IpNet>,
    /// Install the packages that uploaded skills list in requirements.txt and package.json
    #[arg(
        long = "install-skill-requirements",
        env = "SKILLET_INSTALL_SKILL_REQUIREMENTS"
    )]
    pub(crate) install_skill_requirements: bool,
    #[command(flatten)]
    pub(crate) keep: KeepFor,
}

/// Retention settings.
#[derive(Args, Clone)]
pub(crate) struct KeepFor {
    /// The retention of ended jobs with their logs and files: hours (12h), days (30d) or never
    #[arg(
        long = "retention",
        env = "SKILLET_RETENTION",
        default_value = "30d",
        value_name = "TIME"
    )]
    pub(crate) retention: Retention,
    /// The retention of live output (`message.delta`, `reasoning.delta`, `tool.output`): hours (12h), days (30d) or
    /// never. Live output is deleted by whole days (UTC), so it may stay up to a day longer
    #[arg(
        long = "delta-retention",
        env = "SKILLET_DELTA_RETENTION",
        default_value = "24h",
        value_name = "TIME"
    )]
    pub(crate) delta_retention: Retention,
    /// The retention of uploads that no job uses: hours (12h), days (30d) or never
    #[arg(
        long = "upload-retention",
        env = "SKILLET_UPLOAD_RETENTION",
        default_value = "30d",
        value_name = "TIME"
    )]
    pub(crate) upload_retention: Retention,
}

impl KeepFor {
    /// Unlimited retention.
    pub(crate) const EVER: Self = Self {
        retention: Retention::Never,
        delta_retention: Retention::Never,
        upload_retention: Retention::Never,
    };
}
