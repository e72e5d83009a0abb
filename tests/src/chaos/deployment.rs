//! Deployments of a service: its asset store, its database, and the connection between them.

use std::collections::VecDeque;
use std::ops::Range;

use super::setup::Setup;

/// The number of consecutive seeds with the same deployment, so that one service can play several runs.
const SEEDS: u64 = 5;

/// The deployment of a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deployment {
    /// Whether assets are in an S3 bucket instead of a folder.
    pub bucket: bool,
    /// Whether PgBouncer in transaction mode is between the processes and the database.
    pub pooler: bool,
    /// Whether the database has a synchronous standby. All processes have the URL of both servers.
    pub standby: bool,
}

/// All deployments. None has both a pooler and a standby, because a promotion would have to reconfigure the pooler.
const DEPLOYMENTS: [Deployment; 6] = [
    Deployment::new(false, false, false),
    Deployment::new(true, false, false),
    Deployment::new(false, true, false),
    Deployment::new(false, false, true),
    Deployment::new(true, false, true),
    Deployment::new(true, true, false),
];

/// Splits seeds into groups with the same deployment.
pub(super) fn groups(mut seeds: Range<u64>) -> VecDeque<Range<u64>> {
    let mut groups = VecDeque::new();
    while !seeds.is_empty() {
        let next = (seeds.start / SEEDS + 1) * SEEDS;
        let end = next.min(seeds.end);
        groups.push_back(seeds.start..end);
        seeds.start = end;
    }
    groups
}

impl Deployment {
    /// Returns the deployment for the run of a seed.
    pub fn of(seed: u64) -> Self {
        let group = seed / SEEDS;
        DEPLOYMENTS[(group % DEPLOYMENTS.len() as u64) as usize]
    }

    const fn new(bucket: bool, pooler: bool, standby: bool) -> Self {
        Self {
            bucket,
            pooler,
            standby,
        }
    }

    /// Returns the deployment without the parts that this machine cannot run.
    pub(crate) fn on_this_machine(self, setup: &Setup) -> Self {
        Self {
            bucket: self.bucket && setup.s3_python.is_some(),
            pooler: self.pooler && setup.has_pooler,
            standby: self.standby && setup.has_standby,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_of_one_deployment_and_have_all_seeds() {
        let groups = groups(233..243);
        assert_eq!(groups, [233..235, 235..240, 240..243]);
        for group in groups {
            let first = Deployment::of(group.start);
            assert!(group.clone().all(|seed| Deployment::of(seed) == first));
        }
    }

    #[test]
    fn seeds_in_a_row_have_all_deployments() {
        let seeds = 0..DEPLOYMENTS.len() as u64 * SEEDS;
        let all: Vec<_> = seeds.map(Deployment::of).collect();
        for wanted in DEPLOYMENTS {
            let count = all.iter().filter(|it| **it == wanted).count();
            assert_eq!(count as u64, SEEDS, "{wanted:?}");
        }
    }
}
