//! The bucket and the connection pooler of a deployment, with their faults.

use std::path::Path;

use anyhow::Context;

use crate::chaos::deployment::Deployment;
use crate::chaos::setup::Setup;
use crate::pgbouncer::PgBouncer;
use crate::s3::S3;

/// The number of the pooler's server connections. It is lower than the number of client connections.
const SESSIONS: u32 = 24;

/// The bucket and the pooler of a service, if the deployment has them.
pub(super) struct Backing {
    bucket: Option<Bucket>,
    pooler: Option<PgBouncer>,
}

struct Bucket {
    s3: S3,
    is_stopped: bool,
    is_closed: bool,
}

impl Backing {
    /// Starts the bucket and the pooler. Also returns the environment variables for the processes that use them.
    pub(super) async fn start(
        setup: &Setup,
        deployment: Deployment,
        database_url: &str,
        home: &Path,
    ) -> anyhow::Result<(Self, Vec<(String, String)>)> {
        let mut variables = vec![
            ("DATABASE_URL", database_url.to_owned()),
            ("SKILLET_ASSETS", home.join("assets").display().to_string()),
        ];
        let mut bucket = None;
        if deployment.bucket {
            let python = setup.s3_python.as_deref();
            let python = python.context("a bucket needs Python with moto[server]")?;
            let s3 = S3::start(python, &[]).await?;
            variables.extend(s3.environment("bucket"));
            bucket = Some(Bucket {
                s3,
                is_stopped: false,
                is_closed: false,
            });
        }
        let mut pooler = None;
        if deployment.pooler {
            let started = PgBouncer::start(database_url, "transaction", SESSIONS)?;
            variables.extend([
                ("DATABASE_URL", started.url.clone()),
                ("SKILLET_DATABASE_POOLING", PgBouncer::pooling()?.to_owned()),
                ("SKILLET_DATABASE_DIRECT_URL", database_url.to_owned()),
            ]);
            pooler = Some(started);
        }
        let variables = variables.into_iter();
        let variables = variables.map(|(name, value)| (name.to_owned(), value));
        Ok((Self { bucket, pooler }, variables.collect()))
    }

    /// Stops the server of the bucket with SIGSTOP. Returns whether it was running.
    pub(super) fn stop_bucket(&mut self) -> bool {
        self.bucket.as_mut().is_some_and(|bucket| {
            bucket.s3.stop();
            !std::mem::replace(&mut bucket.is_stopped, true)
        })
    }

    /// Resumes the server of the bucket with SIGCONT. Returns whether it was stopped.
    pub(super) fn continue_bucket(&mut self) -> bool {
        self.bucket.as_mut().is_some_and(|bucket| {
            bucket.s3.go_on();
            std::mem::take(&mut bucket.is_stopped)
        })
    }

    /// Closes all connections to the bucket and refuses new ones. Returns whether the bucket was reachable.
    pub(super) async fn close_bucket(&mut self) -> bool {
        match &mut self.bucket {
            Some(bucket) => {
                bucket.s3.close().await;
                !std::mem::replace(&mut bucket.is_closed, true)
            }
            None => false,
        }
    }

    /// Allows connections to the bucket again. Returns whether it was unreachable.
    pub(super) fn open_bucket(&mut self) -> bool {
        self.bucket.as_mut().is_some_and(|bucket| {
            bucket.s3.open();
            std::mem::take(&mut bucket.is_closed)
        })
    }

    /// Kills the pooler. Returns whether it was running.
    pub(super) fn kill_pooler(&mut self) -> anyhow::Result<bool> {
        self.pooler.as_mut().map_or(Ok(false), PgBouncer::kill)
    }

    /// Starts the pooler again at its address. Returns whether it was down.
    pub(super) fn start_pooler(&mut self) -> anyhow::Result<bool> {
        self.pooler
            .as_mut()
            .map_or(Ok(false), PgBouncer::start_again)
    }

    /// Repairs all faults of the bucket and the pooler.
    pub(super) fn heal(&mut self) -> anyhow::Result<()> {
        self.open_bucket();
        self.continue_bucket();
        self.start_pooler()?;
        Ok(())
    }
}
