//! Deployments of a service: where its files are, and the way to its database.

use super::setup::Setup;

/// Seeds in a row with the same deployment, so that one service can play several runs.
const SEEDS: u64 = 5;

/// What a service is deployed with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deployment {
    /// Its files are in an S3 bucket. Otherwise they are in a folder.
    pub bucket: bool,
    /// PgBouncer in transaction mode is between its processes and the database.
    pub pooler: bool,
}

impl Deployment {
    /// The deployment for the run of a seed.
    pub fn of(seed: u64) -> Self {
        let group = seed / SEEDS;
        Self {
            bucket: group % 2 == 1,
            pooler: group / 2 % 2 == 1,
        }
    }

    /// The same without what this machine lacks.
    pub(crate) fn on_this_machine(self, setup: &Setup) -> Self {
        Self {
            bucket: self.bucket && setup.s3_python.is_some(),
            pooler: self.pooler && setup.has_pooler,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_in_a_row_have_all_deployments() {
        let all: Vec<_> = (0..4 * SEEDS).map(Deployment::of).collect();
        for bucket in [false, true] {
            for pooler in [false, true] {
                let wanted = Deployment { bucket, pooler };
                let count = all.iter().filter(|it| **it == wanted).count();
                assert_eq!(count as u64, SEEDS, "{wanted:?}");
            }
        }
    }
}
