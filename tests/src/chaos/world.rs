//! A service of its own, with all that can be done to it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use cli::postgres::{Postgres, Settings};
use reqwest::{Client, Method};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use shared::db::{self, Pool};
use shared::key::{Scope, SecretKey};
use tempfile::TempDir;

use super::schedule::{Fault, TENANTS, WORKERS};
use crate::model_server::ModelServer;
use crate::process::Process;

/// Tenants of which only so many jobs may run at once.
pub(crate) const CAPS: [(usize, usize); 1] = [(1, 2)];
/// How long a part may take to be there.
const READY_PATIENCE: Duration = Duration::from_secs(30);
/// How long a worker that was told to leave may take: it lets commands end.
const LEAVE_PATIENCE: Duration = Duration::from_secs(40);

/// How the parts of a service are started.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The program, which is Skillet's whatever it is called.
    pub program: PathBuf,
    /// Seconds for which a worker may be silent; `None` for the default.
    pub silence: Option<u16>,
}

/// Where a service is and what opens it.
#[derive(Clone)]
pub struct Access {
    /// Its address.
    pub url: String,
    /// A key of each tenant.
    pub keys: Vec<String>,
    /// What asks it.
    pub http: Client,
}

/// A database server, an API, workers and a model.
pub struct World {
    /// The model of all jobs.
    pub model: ModelServer,
    /// The database, from beside the service.
    pub pool: Pool,
    /// Where the API is.
    pub access: Access,
    setup: Setup,
    api: Option<Process>,
    workers: Vec<Option<Worker>>,
    /// Those that were told to leave.
    leaving: Vec<Worker>,
    /// Workers so far.
    started: usize,
    /// The process ids of all workers that there were, by number.
    processes: Vec<u32>,
    faults: Vec<String>,
    violations_seen: usize,
    last_run: Option<String>,
    environment: Vec<(String, String)>,
    postgres: Option<Postgres>,
    // Last, so that it outlives those who work in it.
    home: TempDir,
}

struct Worker {
    process: Process,
    is_stopped: bool,
}

impl World {
    /// Starts all parts but the workers.
    pub async fn start(setup: Setup) -> anyhow::Result<Self> {
        // Another may have been first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let home = tempfile::tempdir()?;
        // The database server may run as another user, who has to pass through.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o711);
        std::fs::set_permissions(home.path(), open)?;
        let postgres = start_postgres(home.path()).await?;
        db::create_database(&postgres.url("postgres"), "skillet").await?;
        let database_url = postgres.url("skillet");
        let pool = db::connect(&database_url, "chaos", 4).await?;
        db::migrate(&pool).await?;
        let (mut keys, mut tenants) = (Vec::new(), Vec::new());
        for number in 0..TENANTS {
            let key = SecretKey::generate();
            let tenant = db::tenant::get_or_insert(&pool, &format!("tenant-{number}")).await?;
            db::key::insert(
                &pool,
                tenant.id,
                "chaos",
                &[Scope::Jobs, Scope::Admin],
                &key,
            )
            .await?;
            keys.push(key.reveal().to_owned());
            tenants.push(tenant.id);
        }
        let model = ModelServer::start();
        let at_home = |name: &str| home.path().join(name).display().to_string();
        let mut environment = vec![
            ("DATABASE_URL".to_owned(), database_url),
            ("SKILLET_ASSETS".to_owned(), at_home("assets")),
            ("SKILLET_DATA_DIR".to_owned(), at_home("api")),
            ("ANTHROPIC_BASE_URL".to_owned(), model.base_url()),
        ];
        if let Some(silence) = setup.silence {
            environment.push(("SKILLET_WORKER_SILENCE".to_owned(), silence.to_string()));
        }
        let access = Access {
            url: String::new(),
            keys,
            http: Client::new(),
        };
        let mut world = Self {
            model,
            pool,
            access,
            setup,
            api: None,
            workers: (0..WORKERS).map(|_| None).collect(),
            leaving: Vec::new(),
            started: 0,
            processes: Vec::new(),
            faults: Vec::new(),
            violations_seen: 0,
            last_run: None,
            environment,
            postgres: Some(postgres),
            home,
        };
        world.start_api("127.0.0.1:0")?;
        for (tenant, cap) in CAPS {
            let path = format!("/v1/tenants/{}", tenants[tenant]);
            let request = world.access.request(tenant, Method::PATCH, &path);
            let request = request.json(&json!({ "max_running": cap }));
            request.send().await?.error_for_status()?;
        }
        Ok(world)
    }

    fn start_api(&mut self, listen: &str) -> anyhow::Result<()> {
        let log = self.home.path().join("api.log");
        let mut api = Process::start(
            &self.setup.program,
            &["api", "--listen", listen],
            &self.environment,
            &log,
        );
        let line = api.first_line();
        let url = line.strip_prefix("listening on ");
        url.context("the API did not start")?
            .clone_into(&mut self.access.url);
        self.api = Some(api);
        Ok(())
    }

    /// Starts a worker in that place if there is none. Its number is the key that it shows to the model.
    pub fn start_worker(&mut self, place: usize) {
        if self.workers[place].is_some() {
            return;
        }
        let number = self.started;
        self.started += 1;
        let home = self.home.path().join(format!("worker-{place}"));
        let mut environment = self.environment.clone();
        environment.extend([
            ("SKILLET_DATA_DIR".to_owned(), home.display().to_string()),
            ("ANTHROPIC_API_KEY".to_owned(), number.to_string()),
        ]);
        let log = home.with_extension("log");
        let process = Process::start(&self.setup.program, &["worker"], &environment, &log);
        self.processes.push(process.id());
        self.workers[place] = Some(Worker {
            process,
            is_stopped: false,
        });
    }

    /// The number of the worker that had that process id last.
    pub(crate) fn number_of(&self, process: u32) -> Option<usize> {
        self.processes.iter().rposition(|id| *id == process)
    }

    /// The processes of the workers that are there, by place.
    pub fn worker_processes(&self) -> impl Iterator<Item = (usize, u32)> {
        let there = self.workers.iter().enumerate();
        there.filter_map(|(place, worker)| Some((place, worker.as_ref()?.process.id())))
    }

    /// Does it.
    pub async fn inflict(&mut self, fault: Fault) -> anyhow::Result<()> {
        match fault {
            Fault::Kill(place) => self.workers[place] = None,
            Fault::Stop(place) => self.signal(place, Signal::STOP, true),
            Fault::Continue(place) => self.signal(place, Signal::CONT, false),
            Fault::Drain(place) => {
                if let Some(mut worker) = self.workers[place].take() {
                    worker.go_on();
                    worker.process.signal(Signal::TERM);
                    self.leaving.push(worker);
                }
            }
            Fault::Start(place) => self.start_worker(place),
            Fault::Cut { one_in } => {
                // The server may be away.
                let _ = self.cut(one_in).await;
            }
            Fault::RestartPostgres => self.restart_postgres().await?,
            Fault::KillApi => self.api = None,
            Fault::StartApi => self.restart_api()?,
        }
        Ok(())
    }

    fn signal(&mut self, place: usize, signal: Signal, is_stopped: bool) {
        if let Some(worker) = &mut self.workers[place] {
            worker.process.signal(signal);
            worker.is_stopped = is_stopped;
        }
    }

    async fn cut(&self, one_in: usize) -> sqlx::Result<()> {
        sqlx::query(
            "select pg_terminate_backend(pid) from pg_stat_activity
             where datname = current_database() and pid <> pg_backend_pid()
               and application_name <> 'chaos' and pid % $1 = 0",
        )
        .bind(i32::try_from(one_in).unwrap_or(i32::MAX))
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Ends the database server as a crash would, and starts it again.
    async fn restart_postgres(&mut self) -> anyhow::Result<()> {
        let pid_file = self.home.path().join("postgres/data/postmaster.pid");
        let pid = std::fs::read_to_string(pid_file)?;
        let pid = pid
            .lines()
            .next()
            .and_then(|pid| Pid::from_raw(pid.trim().parse().ok()?));
        kill_process(pid.context("the server's process id")?, Signal::QUIT)?;
        let old = self.postgres.take();
        tokio::task::spawn_blocking(move || drop(old)).await?;
        self.postgres = Some(start_postgres(self.home.path()).await?);
        Ok(())
    }

    fn restart_api(&mut self) -> anyhow::Result<()> {
        if self.api.is_none() {
            let address = self.access.url.trim_start_matches("http://").to_owned();
            self.start_api(&address)?;
        }
        Ok(())
    }

    /// Brings everything in order: all parts are there, and nobody is stopped.
    pub async fn heal(&mut self) -> anyhow::Result<()> {
        if let Some(status) = self.api.as_mut().and_then(Process::ended) {
            self.faults
                .push(format!("the API ended by itself: {status}"));
            self.api = None;
        }
        self.restart_api()?;
        for place in 0..WORKERS {
            if let Some(worker) = &mut self.workers[place] {
                worker.go_on();
                if let Some(status) = worker.process.ended() {
                    let process = worker.process.id();
                    self.workers[place] = None;
                    // One that does not find the database at its start leaves that to its supervisor.
                    if self.has_registered(process).await? {
                        let fault = format!("worker {place} ended by itself: {status}");
                        self.faults.push(fault);
                    }
                }
            }
            self.start_worker(place);
        }
        Ok(())
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

    /// Waits until so many workers have registered and live.
    pub async fn until_workers(&self, count: usize) -> anyhow::Result<()> {
        let begun_at = Instant::now();
        while db::worker::list(&self.pool).await?.len() < count {
            ensure!(
                begun_at.elapsed() < READY_PATIENCE,
                "the workers did not start"
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    /// The lines of the logs of processes that are called like that, which have one of these words.
    pub(crate) fn log_lines(&self, called: &str, words: &[&str]) -> String {
        let files = std::fs::read_dir(self.home.path());
        let mut found = String::new();
        for path in files
            .into_iter()
            .flatten()
            .flatten()
            .map(|file| file.path())
        {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !name.starts_with(called) || !name.ends_with(".log") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let has_word = |line: &&str| words.iter().any(|word| line.contains(word));
            let lines = text.lines().filter(has_word);
            lines.for_each(|line| found += &format!("{name}: {line}\n"));
        }
        found
    }
}

impl Worker {
    fn go_on(&mut self) {
        if std::mem::take(&mut self.is_stopped) {
            self.process.signal(Signal::CONT);
        }
    }
}

async fn start_postgres(home: &Path) -> anyhow::Result<Postgres> {
    let directory = home.join("postgres");
    let starting = move || {
        // A commit survives that the server is killed, and the machine will not be.
        let settings = Settings { durable: false };
        let progress = |line: &str| eprintln!("{line}");
        Postgres::start(&directory, &std::env::temp_dir(), settings, &progress)
    };
    Ok(tokio::task::spawn_blocking(starting).await??)
}
