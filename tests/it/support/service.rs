//! A separate service for each test.

mod client;

pub(crate) use client::send;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use shared::db::{self, Pool};
use shared::key::{Scope, SecretKey};
use shared::secret::generate_master_key;
use sqlx::AssertSqlSafe;
use tempfile::TempDir;
use tests::model_server::ModelServer;

use super::process::{self, PROGRAM, Process};
use super::{TIMEOUT, database};

/// An API process, its workers, their database and their model, for one test.
pub(crate) struct Service {
    pub(crate) url: String,
    pub(crate) key: String,
    pub(crate) pool: Pool,
    pub(crate) database_url: String,
    pub(crate) model: ModelServer,
    pub(crate) api: Process,
    pub(crate) workers: Vec<Process>,
    pub(crate) home: TempDir,
    http: reqwest::Client,
    environment: Vec<(String, String)>,
}

impl Service {
    /// Starts an API and one worker.
    pub(crate) async fn start() -> Self {
        let mut service = Self::without_worker().await;
        service.add_worker(&[]).await;
        service
    }

    /// Starts an API and one worker that also have the skill `maker`, whose tools make every kind of output. The
    /// model `anthropic/tiny` has a context of 1,000 tokens.
    pub(crate) async fn with_maker() -> Self {
        let skills = concat!(env!("CARGO_MANIFEST_DIR"), "/skills");
        let environment = [
            ("SKILLET_SKILLS_DIR", skills),
            ("SKILLET_CONTEXT_WINDOWS", "anthropic/tiny=1000"),
        ];
        let mut service = Self::with_environment(&environment).await;
        service.add_worker(&[]).await;
        service
    }

    /// Starts an API without a worker.
    pub(crate) async fn without_worker() -> Self {
        Self::with_environment(&[]).await
    }

    /// Starts an API without a worker. The API and its later workers have more variables.
    pub(crate) async fn with_environment(more: &[(&str, &str)]) -> Self {
        Self::with_database(database::create().await, more).await
    }

    /// Like [`Self::with_environment`], with this database.
    pub(crate) async fn with_database(database_url: String, more: &[(&str, &str)]) -> Self {
        // Another test may have installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let pool = db::connect(&database_url, "test", 4).await.unwrap();
        let key = create_key(&pool, "default", &[Scope::Jobs, Scope::Admin]).await;
        let model = ModelServer::start();
        let home = tempfile::tempdir().unwrap();
        let environment = [
            ("DATABASE_URL", database_url.clone()),
            (
                "SKILLET_DATA_DIR",
                home.path().join("api").display().to_string(),
            ),
            (
                "SKILLET_ASSETS",
                home.path().join("assets").display().to_string(),
            ),
            ("SKILLET_FETCH_ALLOW", "127.0.0.0/8".to_owned()),
            ("SKILLET_MASTER_KEY", generate_master_key()),
            ("ANTHROPIC_API_KEY", "sk-ant-test".to_owned()),
            ("ANTHROPIC_BASE_URL", model.base_url()),
            ("OPENAI_API_KEY", "sk-openai-test".to_owned()),
            ("OPENAI_BASE_URL", model.openai_base_url()),
        ];
        let mut environment: Vec<_> = environment
            .map(|(name, value)| (name.to_owned(), value))
            .into();
        environment.extend(owned(more));
        let (api, url) = start_api(&environment, &home, "127.0.0.1:0");
        let http = client::new_client();
        Self {
            url,
            key,
            pool,
            database_url,
            model,
            api,
            workers: Vec::new(),
            home,
            http,
            environment,
        }
    }

    /// Sets a variable of the processes that start from now on.
    pub(crate) fn set_variable(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// Starts another worker with more variables, and waits until it is registered.
    pub(crate) async fn add_worker(&mut self, more: &[(&str, &str)]) {
        self.add_worker_through(&[], more).await;
    }

    /// Like [`Self::add_worker`], through a program that runs the worker, as `nice` does.
    pub(crate) async fn add_worker_through(&mut self, wrapper: &[&str], more: &[(&str, &str)]) {
        let home = self.next_home().display().to_string();
        let worker = self.start_worker(wrapper, more);
        self.workers.push(worker);
        until(async || {
            db::worker::list(&self.pool)
                .await
                .unwrap()
                .iter()
                .any(|worker| worker.home == home)
        })
        .await;
    }

    /// Starts a worker, which may fail before it is registered.
    pub(crate) fn start_worker(&self, wrapper: &[&str], more: &[(&str, &str)]) -> Process {
        let home = self.next_home();
        let mut environment = self.environment.clone();
        environment.push(("SKILLET_DATA_DIR".to_owned(), home.display().to_string()));
        environment.extend(owned(more));
        let log = home.with_extension("log");
        if wrapper.is_empty() {
            process::start(&["worker"], &environment, &log)
        } else {
            let arguments = ["worker"];
            Process::start_through(wrapper, PROGRAM.as_ref(), &arguments, &environment, &log)
        }
    }

    /// Returns the data directory of the worker that starts next.
    pub(crate) fn next_home(&self) -> PathBuf {
        self.home
            .path()
            .join(format!("worker-{}", self.workers.len()))
    }

    /// Restarts the API at the same address.
    pub(crate) fn restart_api(&mut self) {
        let address = self.url.trim_start_matches("http://").to_owned();
        (self.api, _) = start_api(&self.environment, &self.home, &address);
    }

    /// Like [`Self::restart_api`], through a program that runs the API, as `nice` does.
    pub(crate) fn restart_api_through(&mut self, wrapper: &[&str]) {
        let address = self.url.trim_start_matches("http://");
        let arguments = ["api", "--listen", address];
        let log = self.home.path().join("api.log");
        let (program, environment) = (PROGRAM.as_ref(), &self.environment);
        self.api = Process::start_through(wrapper, program, &arguments, environment, &log);
        let line = self.api.first_line();
        assert!(line.starts_with("listening on "), "{line}\n{}", self.logs());
    }

    /// Starts a second API with more variables. Returns its process and its URL.
    pub(crate) fn start_second_api(&self, more: &[(&str, &str)]) -> (Process, String) {
        let mut environment = self.environment.clone();
        environment.extend(owned(more));
        start_api(&environment, &self.home, "127.0.0.1:0")
    }

    /// Returns the path of the blob with this hash in the asset store. The file may not exist.
    pub(crate) fn blob(&self, sha256: &Value) -> PathBuf {
        let sha256 = sha256.as_str().unwrap();
        let folder = self.home.path().join("assets/sha256");
        folder.join(&sha256[..2]).join(sha256)
    }

    /// Returns all rows of all tables of the database as text.
    pub(crate) async fn dump(&self) -> String {
        let tables = sqlx::query_scalar::<_, String>(
            "select relname::text from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace",
        );
        let mut dump = String::new();
        for table in tables.fetch_all(&self.pool).await.unwrap() {
            let rows =
                format!("select coalesce(string_agg(\"{table}\"::text, ' '), '') from \"{table}\"");
            let rows = sqlx::query_scalar::<_, String>(AssertSqlSafe(rows));
            dump += &rows.fetch_one(&self.pool).await.unwrap();
        }
        dump
    }

    /// Returns the logs of the processes.
    pub(crate) fn logs(&self) -> String {
        let files = std::fs::read_dir(self.home.path())
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let logs =
            files.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
        logs.map(|path| {
            format!(
                "{}:\n{}\n",
                path.display(),
                std::fs::read_to_string(&path).unwrap()
            )
        })
        .collect()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        database::release(&self.database_url);
    }
}

/// Returns a prompt of `script/bash` with one command.
pub(crate) fn bash(command: &str) -> String {
    format!("```bash\n{command}\n```")
}

/// Creates an agent `runner` that can run prompts of `script/bash`.
pub(crate) async fn put_runner(service: &Service) {
    let agent = service.request(Method::PUT, "/v1/agents/runner");
    let agent = agent.json(&json!({"soul": "I run.", "tools": ["shell.exec"]}));
    assert_eq!(agent.send().await.unwrap().status(), 201);
}

/// Returns a job of the skill `shell` whose model replies with the script of this marker.
pub(crate) fn scripted(model: &str, marker: &str) -> Value {
    json!({"skill": "shell", "model": model, "prompt": format!("Do it. #{marker}")})
}

/// Creates an API key for a tenant. Creates the tenant if it does not exist.
pub(crate) async fn create_key(pool: &Pool, tenant: &str, scopes: &[Scope]) -> String {
    let tenant = db::tenant::get_or_insert(pool, tenant).await.unwrap();
    let secret = SecretKey::generate();
    db::key::insert(pool, tenant.id, "test", scopes, &secret)
        .await
        .unwrap();
    secret.reveal().to_owned()
}

/// Waits until the condition is true.
pub(crate) async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    let begun_at = Instant::now();
    while !is_so().await {
        assert!(begun_at.elapsed() < TIMEOUT, "waited too long");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn owned(variables: &[(&str, &str)]) -> impl Iterator<Item = (String, String)> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    variables.iter().map(own)
}

fn start_api(environment: &[(String, String)], home: &TempDir, listen: &str) -> (Process, String) {
    let mut api = process::start(
        &["api", "--listen", listen],
        environment,
        &home.path().join("api.log"),
    );
    let line = api.first_line();
    let url = line.strip_prefix("listening on ").unwrap_or_else(|| {
        panic!(
            "{line}\n{}",
            std::fs::read_to_string(home.path().join("api.log")).unwrap()
        )
    });
    let url = url.to_owned();
    (api, url)
}
