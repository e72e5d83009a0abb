//! A complete service for chaos runs, with the faults that can be injected into it.

mod api;
mod backing;
mod database;
mod log_lines;
mod tenant;
mod version;
mod worker;

use std::time::Duration;

use reqwest::Client;
use shared::db::{self, Pool};
use shared::secret::generate_master_key;
use tempfile::TempDir;
use tokio_util::task::AbortOnDropHandle;

use self::api::Api;
use self::backing::Backing;
use self::database::Database;
use self::worker::Worker;
use super::accelerated_time::speed_up;
use super::deployment::Deployment;
use super::fault::{Fault, Outage};
use super::schedule::{TENANTS, WORKERS};
use super::setup::Setup;
use crate::model_server::ModelServer;
use crate::receiver::Behavior;

pub(crate) use self::tenant::{CAPS, TenantWebhook};
pub(crate) use self::version::{NEXT_VERSION, Version};

/// The longest shutdown of a drained worker, which first waits for its running commands.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(40);

/// The address and the credentials of an API.
#[derive(Clone)]
pub struct Access {
    /// The URL of the API.
    pub url: String,
    /// One API key for each tenant.
    pub keys: Vec<String>,
    /// The HTTP client for requests.
    pub http: Client,
}

/// A service: a database server, APIs, workers and a model server.
pub struct ChaosService {
    /// The model server of all jobs.
    pub model: ModelServer,
    /// A connection pool to the database that bypasses the service.
    pub pool: Pool,
    /// The feed cursor of each tenant.
    pub(crate) feed_cursors: [Option<String>; TENANTS],
    /// The webhook of each tenant.
    pub(crate) webhooks: Vec<TenantWebhook>,
    /// The task that accelerates time for deliveries.
    acceleration: Option<AbortOnDropHandle<()>>,
    setup: Setup,
    /// One API key for each tenant.
    keys: Vec<String>,
    http: Client,
    apis: Vec<Api>,
    workers: Vec<Option<Worker>>,
    /// Workers that have received SIGTERM.
    leaving: Vec<Worker>,
    /// The version of workers that start from now on.
    version: Version,
    /// The process ids and versions of all workers started so far, by number.
    started: Vec<(u32, Version)>,
    faults: Vec<String>,
    violations_seen: usize,
    last_run: Option<String>,
    environment: Vec<(String, String)>,
    pub(super) deployment: Deployment,
    backing: Backing,
    database: Database,
    // Declared last, so that it outlives the processes that use it.
    home: TempDir,
}

impl ChaosService {
    /// Starts everything except the workers, with one API.
    pub async fn start(setup: Setup, deployment: Deployment) -> anyhow::Result<Self> {
        // Another test of this process may have installed the provider first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let home = tempfile::tempdir()?;
        // The database server may run as another user, who needs access to the directories in this one.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o711);
        std::fs::set_permissions(home.path(), open)?;
        let database = if deployment.standby {
            Database::start_with_standby().await?
        } else {
            Database::start(home.path()).await?
        };
        let pool = db::connect(database.url(), "chaos", 4).await?;
        db::migrate(&pool).await?;
        version::write_for_next(&pool).await?;
        let model = ModelServer::start();
        let backing = Backing::start(&setup, deployment, database.url(), home.path());
        let (backing, mut environment) = backing.await?;
        environment.extend([
            ("ANTHROPIC_BASE_URL".to_owned(), model.base_url()),
            ("SKILLET_MASTER_KEY".to_owned(), generate_master_key()),
            ("SKILLET_WEBHOOK_ALLOW".to_owned(), "127.0.0.0/8".to_owned()),
        ]);
        if let Some(silence) = setup.silence {
            environment.push(("SKILLET_WORKER_SILENCE".to_owned(), silence.to_string()));
        }
        let mut service = Self {
            model,
            pool,
            feed_cursors: Default::default(),
            webhooks: Vec::new(),
            acceleration: None,
            setup,
            keys: Vec::new(),
            http: Client::new(),
            apis: Vec::new(),
            workers: (0..WORKERS).map(|_| None).collect(),
            leaving: Vec::new(),
            version: Version::This,
            started: Vec::new(),
            faults: Vec::new(),
            violations_seen: 0,
            last_run: None,
            environment,
            deployment,
            backing,
            database,
            home,
        };
        service.add_api().await?;
        service.add_tenants().await?;
        Ok(service)
    }

    /// Accelerates time for deliveries from now on.
    pub(crate) fn accelerate_deliveries(&mut self) {
        let accelerating = tokio::spawn(speed_up(self.pool.clone()));
        self.acceleration = Some(AbortOnDropHandle::new(accelerating));
    }

    /// Returns the number of APIs.
    pub(crate) fn apis(&self) -> usize {
        self.apis.len()
    }

    /// Returns the address and credentials of an API.
    pub fn access(&self, api: usize) -> Access {
        Access {
            url: self.apis[api].url().to_owned(),
            keys: self.keys.clone(),
            http: self.http.clone(),
        }
    }

    /// Starts another API.
    pub(crate) async fn add_api(&mut self) -> anyhow::Result<()> {
        let mut api = Api::at(self.home.path().join(format!("api-{}", self.apis.len())));
        api.start(&self.setup.program, &self.environment).await?;
        self.apis.push(api);
        Ok(())
    }

    /// Starts a worker at the place if there is none. The worker sends its number to the model server as the API key.
    pub fn start_worker(&mut self, place: usize) {
        if self.workers[place].is_some() {
            return;
        }
        let mut environment = self.environment.clone();
        let number = self.started.len().to_string();
        environment.push(("ANTHROPIC_API_KEY".to_owned(), number));
        if self.version == Version::Next {
            let url = self.database.url_of_next_version();
            environment.extend(url.map(|url| ("DATABASE_URL".to_owned(), url.to_owned())));
            // The connection of the next version does not use the pooler.
            environment.push(("SKILLET_DATABASE_POOLING".to_owned(), "session".to_owned()));
        }
        let home = self.home.path().join(format!("worker-{place}"));
        let worker = Worker::start(&self.setup.program, environment, &home);
        self.started.push((worker.process.id(), self.version));
        self.workers[place] = Some(worker);
    }

    /// Returns the number of the latest worker with the process id.
    pub(crate) fn number_of(&self, process: u32) -> Option<usize> {
        self.started.iter().rposition(|(id, _)| *id == process)
    }

    /// Returns the numbers of the workers of the next version.
    pub(crate) fn workers_of_next_version(&self) -> impl Iterator<Item = usize> {
        let versions = self.started.iter().map(|(_, version)| *version);
        let numbered = versions.enumerate();
        numbered.filter_map(|(number, version)| (version == Version::Next).then_some(number))
    }

    /// Returns the process ids of the running workers, by place.
    pub fn worker_processes(&self) -> impl Iterator<Item = (usize, u32)> {
        let there = self.workers.iter().enumerate();
        there.filter_map(|(place, worker)| Some((place, worker.as_ref()?.process.id())))
    }

    /// Injects a fault if it is applicable, and returns whether it was.
    pub async fn inflict(&mut self, fault: Fault) -> anyhow::Result<bool> {
        Ok(match fault {
            Fault::Kill(place) => self.workers[place].take().is_some(),
            Fault::Stop(place) => self.workers[place].as_mut().is_some_and(Worker::stop),
            Fault::Continue(place) => self.workers[place].as_mut().is_some_and(Worker::go_on),
            Fault::Drain(place) => {
                let worker = self.workers[place].take();
                let leaving = worker.map(Worker::leave);
                let was_there = leaving.is_some();
                self.leaving.extend(leaving);
                was_there
            }
            Fault::Start(place) => {
                let is_missing = self.workers[place].is_none();
                self.start_worker(place);
                is_missing
            }
            Fault::Cut { one_in } => self.database.cut(&self.pool, one_in).await,
            Fault::Hang(connection) => self.database.hang(&self.pool, connection, false).await,
            Fault::Resume(connection) => self.database.resume(connection),
            Fault::HangForGood(connection) => {
                self.database.hang(&self.pool, connection, true).await
            }
            Fault::RestartPostgres => self.database.restart().await?,
            Fault::KillApi(api) => self.apis[api].kill(),
            Fault::StartApi(api) => self.start_api(api).await?,
            Fault::ClockAhead(api) => {
                let clock = self.setup.wrong_clock.clone();
                self.apis[api].set_clock(clock) && self.start_api(api).await?
            }
            Fault::Release => std::mem::replace(&mut self.version, Version::Next) == Version::This,
            Fault::ReceiversDown(Outage::Error) => {
                self.set_receivers(&Behavior::Answer(500, "", ""));
                true
            }
            Fault::ReceiversDown(Outage::Close) => {
                self.set_receivers(&Behavior::CloseEarly);
                true
            }
            Fault::ReceiversUp => {
                self.set_receivers(&Behavior::ACCEPT);
                true
            }
            Fault::StopBucket => self.backing.stop_bucket(),
            Fault::ContinueBucket => self.backing.continue_bucket(),
            Fault::CloseBucket => self.backing.close_bucket().await,
            Fault::OpenBucket => self.backing.open_bucket(),
            Fault::KillPooler => self.backing.kill_pooler()?,
            Fault::StartPooler => self.backing.start_pooler()?,
            Fault::LosePrimary(loss) => self.database.lose_primary(loss).await?,
            Fault::Promote => self.promote().await?,
        })
    }

    /// Promotes the standby if the primary is lost, and returns whether it was.
    async fn promote(&mut self) -> anyhow::Result<bool> {
        let is_promoted = self.database.promote()?;
        if is_promoted {
            // Existing connections may lead to the lost primary, which may still answer.
            self.pool = db::connect(self.database.url(), "chaos", 4).await?;
            if self.acceleration.is_some() {
                self.accelerate_deliveries();
            }
        }
        Ok(is_promoted)
    }

    async fn start_api(&mut self, api: usize) -> anyhow::Result<bool> {
        // The API listens only when it has reached its database and bucket, and this function waits for that.
        self.backing.heal()?;
        self.promote().await?;
        let api = &mut self.apis[api];
        api.start(&self.setup.program, &self.environment).await
    }

    /// Repairs all faults except connections that hang for good. Afterwards all parts run and none is stopped.
    pub async fn heal(&mut self) -> anyhow::Result<()> {
        self.set_receivers(&Behavior::ACCEPT);
        self.backing.heal()?;
        self.promote().await?;
        self.database.end_lost_primary().await?;
        for number in 0..self.apis.len() {
            if let Some(status) = self.apis[number].ended() {
                let fault = format!("API {number} ended by itself: {status}");
                self.faults.push(fault);
            }
            self.start_api(number).await?;
        }
        for worker in self.workers.iter_mut().flatten() {
            worker.go_on();
        }
        self.restart_ended_workers().await?;
        for place in 0..WORKERS {
            self.start_worker(place);
        }
        Ok(())
    }

    /// Prepares the service for the next run: no connection hangs, the primary has a standby, all clocks are right,
    /// and all workers have the current version.
    pub(crate) async fn reset(&mut self) -> anyhow::Result<()> {
        self.database.resume_all();
        self.database.replace_lost_primary().await?;
        for api in 0..self.apis.len() {
            if self.apis[api].set_clock(None) {
                self.start_api(api).await?;
            }
        }
        self.version = Version::This;
        for place in 0..WORKERS {
            let process = self.workers[place].as_ref().map(|it| it.process.id());
            let number = process.and_then(|process| self.number_of(process));
            if number.is_some_and(|number| self.started[number].1 == Version::Next) {
                self.inflict(Fault::Drain(place)).await?;
                self.start_worker(place);
            }
        }
        self.await_drained().await?;
        self.until_workers(WORKERS).await
    }

    async fn has_registered(&self, process: u32) -> sqlx::Result<bool> {
        let registered =
            sqlx::query_scalar("select exists (select from worker where name like '%:' || $1)");
        let registered = registered.bind(process.to_string());
        registered.fetch_one(&self.pool).await
    }

    /// Waits until the workers that received SIGTERM have exited.
    pub(crate) async fn await_drained(&mut self) -> sqlx::Result<()> {
        for mut worker in std::mem::take(&mut self.leaving) {
            match worker.process.end_within(LEAVE_TIMEOUT).await {
                Some(status) if status.success() => {}
                Some(status) if self.has_registered(worker.process.id()).await? => {
                    self.faults.push(format!("a worker left with {status}"));
                }
                Some(_) => {}
                None => self.faults.push("a worker did not leave".to_owned()),
            }
        }
        Ok(())
    }

    /// Takes the violations by processes since the last call.
    pub(crate) fn take_faults(&mut self) -> Vec<String> {
        std::mem::take(&mut self.faults)
    }

    /// Takes the violations that the model server recorded since the last call.
    pub(crate) fn take_model_violations(&mut self) -> Vec<String> {
        let all = self.model.violations();
        let new = all[self.violations_seen..].to_vec();
        self.violations_seen = all.len();
        new
    }

    /// Deletes a run from the model server when the next run is over. A superseded worker may still send requests.
    pub(crate) fn forget_later(&mut self, run: String) {
        if let Some(before) = self.last_run.replace(run) {
            self.model.forget(&before);
        }
    }
}
