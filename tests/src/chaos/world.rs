//! A service for a run, with the faults that can be injected into it.

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
use super::deployment::Deployment;
use super::fault::{Fault, Outage};
use super::haste::hasten;
use super::schedule::{TENANTS, WORKERS};
use super::setup::Setup;
use crate::model_server::ModelServer;
use crate::receiver::Behavior;

pub(crate) use self::tenant::{CAPS, TenantWebhook};
pub(crate) use self::version::{NEXT_VERSION, Version};

/// How long a worker that was told to leave may take: it lets commands end.
const LEAVE_PATIENCE: Duration = Duration::from_secs(40);

/// Where an API is and what opens it.
#[derive(Clone)]
pub struct Access {
    /// Its address.
    pub url: String,
    /// A key of each tenant.
    pub keys: Vec<String>,
    /// What asks it.
    pub http: Client,
}

/// A database server, APIs, workers and a model.
pub struct World {
    /// The model of all jobs.
    pub model: ModelServer,
    /// The database, from beside the service.
    pub pool: Pool,
    /// Where the feeds of the tenants were read to.
    pub(crate) feed_cursors: [Option<String>; TENANTS],
    /// The webhook of each tenant.
    pub(crate) webhooks: Vec<TenantWebhook>,
    /// Lets time pass faster for deliveries.
    haste: Option<AbortOnDropHandle<()>>,
    setup: Setup,
    /// A key of each tenant.
    keys: Vec<String>,
    http: Client,
    apis: Vec<Api>,
    workers: Vec<Option<Worker>>,
    /// Those that were told to leave.
    leaving: Vec<Worker>,
    /// What workers are when they begin.
    version: Version,
    /// The process ids and versions of all workers that there were, by number.
    started: Vec<(u32, Version)>,
    faults: Vec<String>,
    violations_seen: usize,
    last_run: Option<String>,
    environment: Vec<(String, String)>,
    pub(super) deployment: Deployment,
    backing: Backing,
    database: Database,
    // Last, so that it outlives those who work in it.
    home: TempDir,
}

impl World {
    /// Starts all parts but the workers, with one API.
    pub async fn start(setup: Setup, deployment: Deployment) -> anyhow::Result<Self> {
        // Another may have been first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let home = tempfile::tempdir()?;
        // The database server may run as another user, who has to pass through.
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
        let mut world = Self {
            model,
            pool,
            feed_cursors: Default::default(),
            webhooks: Vec::new(),
            haste: None,
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
        world.add_api().await?;
        world.add_tenants().await?;
        Ok(world)
    }

    /// Lets time pass faster for deliveries from now on.
    pub(crate) fn hasten_deliveries(&mut self) {
        let hastening = tokio::spawn(hasten(self.pool.clone()));
        self.haste = Some(AbortOnDropHandle::new(hastening));
    }

    /// How many APIs there are.
    pub(crate) fn apis(&self) -> usize {
        self.apis.len()
    }

    /// Where that API is.
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

    /// Starts a worker in that place if there is none. Its number is the key that it shows to the model.
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
            // There is no pooler on the way of its own.
            environment.push(("SKILLET_DATABASE_POOLING".to_owned(), "session".to_owned()));
        }
        let home = self.home.path().join(format!("worker-{place}"));
        let worker = Worker::start(&self.setup.program, environment, &home);
        self.started.push((worker.process.id(), self.version));
        self.workers[place] = Some(worker);
    }

    /// The number of the worker that had that process id last.
    pub(crate) fn number_of(&self, process: u32) -> Option<usize> {
        self.started.iter().rposition(|(id, _)| *id == process)
    }

    /// The numbers of the workers of the next version.
    pub(crate) fn workers_of_next_version(&self) -> impl Iterator<Item = usize> {
        let versions = self.started.iter().map(|(_, version)| *version);
        let numbered = versions.enumerate();
        numbered.filter_map(|(number, version)| (version == Version::Next).then_some(number))
    }

    /// The processes of the workers that are there, by place.
    pub fn worker_processes(&self) -> impl Iterator<Item = (usize, u32)> {
        let there = self.workers.iter().enumerate();
        there.filter_map(|(place, worker)| Some((place, worker.as_ref()?.process.id())))
    }

    /// Does it, if there is what it is done to; says whether there was.
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

    /// Promotes the standby if the primary is lost; says whether it was.
    async fn promote(&mut self) -> anyhow::Result<bool> {
        let is_promoted = self.database.promote()?;
        if is_promoted {
            // Connections from before may be ones to a server that still answers.
            self.pool = db::connect(self.database.url(), "chaos", 4).await?;
            if self.haste.is_some() {
                self.hasten_deliveries();
            }
        }
        Ok(is_promoted)
    }

    async fn start_api(&mut self, api: usize) -> anyhow::Result<bool> {
        // It listens when it has reached its database and its bucket, and this waits for it.
        self.backing.heal()?;
        self.promote().await?;
        let api = &mut self.apis[api];
        api.start(&self.setup.program, &self.environment).await
    }

    /// Brings everything in order but connections that hang for good: all parts are there, and nobody is stopped.
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

    /// Makes it a service in which the next run can begin: no connection hangs, the primary has a standby, all clocks
    /// are right, and all workers are of this version.
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
        self.see_off().await?;
        self.until_workers(WORKERS).await
    }

    async fn has_registered(&self, process: u32) -> sqlx::Result<bool> {
        let registered =
            sqlx::query_scalar("select exists (select from worker where name like '%:' || $1)");
        let registered = registered.bind(process.to_string());
        registered.fetch_one(&self.pool).await
    }

    /// Waits until those have left who were told to.
    pub(crate) async fn see_off(&mut self) -> sqlx::Result<()> {
        for mut worker in std::mem::take(&mut self.leaving) {
            match worker.process.end_within(LEAVE_PATIENCE).await {
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

    /// What processes did since the last call that none should do.
    pub(crate) fn take_faults(&mut self) -> Vec<String> {
        std::mem::take(&mut self.faults)
    }

    /// What the model has had to say against requests since the last call.
    pub(crate) fn take_model_violations(&mut self) -> Vec<String> {
        let all = self.model.violations();
        let new = all[self.violations_seen..].to_vec();
        self.violations_seen = all.len();
        new
    }

    /// Lets the model forget a run when the next one is over: a worker that is superseded may still ask.
    pub(crate) fn forget_later(&mut self, run: String) {
        if let Some(before) = self.last_run.replace(run) {
            self.model.forget(&before);
        }
    }
}
