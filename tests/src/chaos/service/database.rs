//! The database servers of a service, with faults of the servers and of their connections.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use cli::postgres::{Postgres, PostgresSettings};
use rustix::process::{Pid, Signal, kill_process};
use shared::db;
use shared::db::Pool;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::version::Translation;
use crate::chaos::fault::{Connection, Purpose};
use crate::replication::{Loss, ReplicatedPostgres};

/// The number of attempts to stop a connection while it holds no lock.
const IDLE_TRIES: usize = 20;
const IDLE_PAUSE: Duration = Duration::from_millis(5);
/// The timeout of queries on `pg_stat_activity`. A stopped process may be in the middle of updating its entry.
const LOOK_TIMEOUT: Duration = Duration::from_secs(2);

/// The database server or servers, and their processes that were stopped.
pub(super) struct Database {
    // Declared before the servers: a server waits for its processes when it ends.
    hung: Vec<StoppedProcess>,
    servers: Servers,
    url: String,
}

enum Servers {
    /// One server that restarts after a crash.
    One {
        translation: Translation,
        postgres: Option<Postgres>,
        home: PathBuf,
    },
    /// A primary that is lost at most once in a run, and its standby.
    Two {
        postgres: ReplicatedPostgres,
        primary: Primary,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Primary {
    There,
    Lost,
    Promoted,
}

impl Database {
    /// Starts one server with an empty database.
    pub(super) async fn start(home: &Path) -> anyhow::Result<Self> {
        let postgres = start_postgres(home).await?;
        db::create_database(&postgres.url("postgres"), "skillet").await?;
        let url = postgres.url("skillet");
        let translation = Translation::start(&url, &home.join("next"))?;
        let servers = Servers::One {
            translation,
            postgres: Some(postgres),
            home: home.to_owned(),
        };
        Ok(Self {
            hung: Vec::new(),
            servers,
            url,
        })
    }

    /// Starts a server and its standby, with an empty database.
    pub(super) async fn start_with_standby() -> anyhow::Result<Self> {
        let postgres = ReplicatedPostgres::start().await?;
        db::create_database(&postgres.primary_url("postgres"), "skillet").await?;
        Ok(Self {
            hung: Vec::new(),
            url: postgres.url("skillet"),
            servers: Servers::Two {
                postgres,
                primary: Primary::There,
            },
        })
    }

    /// Returns the URL of the database.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the URL of the database for workers of the next version, if they are possible here.
    pub(super) fn url_of_next_version(&self) -> Option<&str> {
        match &self.servers {
            Servers::One { translation, .. } => Some(translation.url()),
            Servers::Two { .. } => None,
        }
    }

    /// Makes the primary fail. Returns whether there was a primary with a standby.
    pub(super) async fn lose_primary(&mut self, loss: Loss) -> anyhow::Result<bool> {
        // Resuming these processes later would wake them in a stopped server.
        self.resume_all();
        match &mut self.servers {
            Servers::Two {
                postgres,
                primary: primary @ Primary::There,
            } => {
                postgres.lose_primary(loss).await?;
                *primary = Primary::Lost;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Promotes the standby if the primary is lost. Returns whether it was.
    pub(super) fn promote(&mut self) -> anyhow::Result<bool> {
        match &mut self.servers {
            Servers::Two {
                postgres,
                primary: primary @ Primary::Lost,
            } => {
                postgres.promote()?;
                *primary = Primary::Promoted;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Kills a lost primary that still runs, as failover tools eventually do.
    pub(super) async fn end_lost_primary(&self) -> anyhow::Result<()> {
        match &self.servers {
            Servers::Two {
                postgres,
                primary: Primary::Promoted,
            } => postgres.lose_primary(Loss::Killed).await,
            _ => Ok(()),
        }
    }

    /// Gives a promoted standby a new standby.
    pub(super) async fn replace_lost_primary(&mut self) -> anyhow::Result<()> {
        if let Servers::Two {
            postgres,
            primary: primary @ Primary::Promoted,
        } = &mut self.servers
        {
            postgres.replace_lost().await?;
            *primary = Primary::There;
        }
        Ok(())
    }

    fn primary(&self) -> Option<Primary> {
        match self.servers {
            Servers::One { .. } => None,
            Servers::Two { primary, .. } => Some(primary),
        }
    }

    /// Crashes the server and starts it again. Returns `false` if the database has a standby.
    pub(super) async fn restart(&mut self) -> anyhow::Result<bool> {
        self.resume_all();
        let Servers::One { postgres, home, .. } = &mut self.servers else {
            return Ok(false);
        };
        let pid_file = home.join("postgres/data/postmaster.pid");
        let pid = std::fs::read_to_string(pid_file)?;
        let pid = pid
            .lines()
            .next()
            .and_then(|pid| Pid::from_raw(pid.trim().parse().ok()?));
        kill_process(pid.context("the server's process id")?, Signal::QUIT)?;
        let old = postgres.take();
        spawn_blocking(move || drop(old)).await?;
        *postgres = Some(start_postgres(home).await?);
        Ok(true)
    }

    /// Terminates one in `one_in` connections. Returns whether the server was available.
    pub(super) async fn cut(&self, pool: &Pool, one_in: usize) -> bool {
        let cut = sqlx::query(
            "select pg_terminate_backend(pid) from pg_stat_activity
             where datname = current_database() and pid <> pg_backend_pid()
               and application_name <> 'chaos' and pid % $1 = 0",
        );
        let cut = cut.bind(i32::try_from(one_in).unwrap_or(i32::MAX));
        // Terminating a commit that waits for the standby would make it visible without replication.
        self.primary() != Some(Primary::Lost) && cut.execute(pool).await.is_ok()
    }

    /// Stops the server process of a connection; with `while_idle`, only if it holds no lock. Returns whether it did.
    pub(super) async fn hang(
        &mut self,
        pool: &Pool,
        connection: Connection,
        while_idle: bool,
    ) -> bool {
        for _ in 0..IDLE_TRIES {
            let mut processes = list(pool, connection.purpose).await;
            processes.retain(|process| self.hung.iter().all(|hung| hung.process != *process));
            let place = connection.which.checked_rem(processes.len());
            let stopped =
                place.and_then(|place| StoppedProcess::stop(connection, processes[place]));
            let Some(hung) = stopped else {
                return false;
            };
            if !while_idle || is_idle(pool, hung.process).await {
                self.hung.push(hung);
                return true;
            }
            drop(hung);
            sleep(IDLE_PAUSE).await;
        }
        false
    }

    /// Resumes the stopped processes of such connections. Returns whether there were any.
    pub(super) fn resume(&mut self, connection: Connection) -> bool {
        let count = self.hung.len();
        self.hung.retain(|hung| hung.connection != connection);
        self.hung.len() < count
    }

    /// Resumes all stopped processes.
    pub(super) fn resume_all(&mut self) {
        self.hung.clear();
    }
}

/// A stopped process of the server. It is resumed when this is dropped.
struct StoppedProcess {
    connection: Connection,
    process: Pid,
}

impl StoppedProcess {
    fn stop(connection: Connection, process: Pid) -> Option<Self> {
        kill_process(process, Signal::STOP).ok()?;
        Some(Self {
            connection,
            process,
        })
    }
}

impl Drop for StoppedProcess {
    fn drop(&mut self) {
        // A stopped process cannot have ended unless the server killed it.
        let _ = kill_process(self.process, Signal::CONT);
    }
}

/// Lists the server processes of connections with the purpose. The list is empty if the server does not answer.
async fn list(pool: &Pool, purpose: Purpose) -> Vec<Pid> {
    let found = sqlx::query_scalar(
        "select pid from pg_stat_activity
         where datname = current_database() and backend_type = 'client backend'
           and application_name <> 'chaos' and query like $1
         order by pid",
    );
    let found = found.bind(purpose.statement()).fetch_all(pool);
    let found: Vec<i32> = match timeout(LOOK_TIMEOUT, found).await {
        Ok(Ok(found)) => found,
        _ => Vec::new(),
    };
    found.into_iter().filter_map(Pid::from_raw).collect()
}

/// Whether the process waits for its client and for nothing else. A process that reads notifications is also `idle`,
/// but it may hold or wait for a lock of the server.
async fn is_idle(pool: &Pool, process: Pid) -> bool {
    let state = sqlx::query_scalar(
        "select state = 'idle' and wait_event = 'ClientRead' from pg_stat_activity where pid = $1",
    );
    let state = state.bind(process.as_raw_pid()).fetch_one(pool);
    let state = timeout(LOOK_TIMEOUT, state).await;
    matches!(state, Ok(Ok(Some(true))))
}

async fn start_postgres(home: &Path) -> anyhow::Result<Postgres> {
    let directory = home.join("postgres");
    let starting = move || {
        // Commits survive a killed server without fsync, and the machine itself is never killed.
        let settings = PostgresSettings {
            durable: false,
            ..PostgresSettings::default()
        };
        let progress = |line: &str| eprintln!("{line}");
        Postgres::start(&directory, &std::env::temp_dir(), settings, &progress)
    };
    Ok(spawn_blocking(starting).await??)
}
