//! The database server or servers, and faults of them and their connections.

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

/// How often a connection is stopped until it is found in a moment in which it holds no lock.
const IDLE_TRIES: usize = 20;
const IDLE_PAUSE: Duration = Duration::from_millis(5);
/// How long what is said of connections may take: one that was stopped may be in the midst of saying it.
const LOOK_PATIENCE: Duration = Duration::from_secs(2);

/// A server with a database, and those of its processes that were stopped.
pub(super) struct Database {
    // Before the server, which waits for its processes when it ends.
    hung: Vec<Hung>,
    servers: Servers,
    url: String,
}

enum Servers {
    /// One that comes back after its end.
    One {
        translation: Translation,
        postgres: Option<Postgres>,
        home: PathBuf,
    },
    /// A primary that is lost once a run, and its standby.
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
    /// Starts a server, with a database that is empty.
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

    /// Starts a server with a standby, with a database that is empty.
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

    /// Where it is.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Where it is for the next version, which understands more.
    pub(super) fn url_of_next_version(&self) -> Option<&str> {
        match &self.servers {
            Servers::One { translation, .. } => Some(translation.url()),
            Servers::Two { .. } => None,
        }
    }

    /// Takes the primary away; says whether there was one with a standby.
    pub(super) async fn lose_primary(&mut self, loss: Loss) -> anyhow::Result<bool> {
        // Later they would go on in a server that does not.
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

    /// Promotes the standby if the primary is lost; says whether it was.
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

    /// Ends a primary that was lost and goes on: those who manage servers see to that sooner or later.
    pub(super) async fn end_lost_primary(&self) -> anyhow::Result<()> {
        match &self.servers {
            Servers::Two {
                postgres,
                primary: Primary::Promoted,
            } => postgres.lose_primary(Loss::Killed).await,
            _ => Ok(()),
        }
    }

    /// Gives a standby that was promoted one of its own.
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

    /// Ends the server as a crash would, and starts it again; says whether it is one without a standby.
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

    /// Cuts one in so many connections; says whether the server was there.
    pub(super) async fn cut(&self, pool: &Pool, one_in: usize) -> bool {
        let cut = sqlx::query(
            "select pg_terminate_backend(pid) from pg_stat_activity
             where datname = current_database() and pid <> pg_backend_pid()
               and application_name <> 'chaos' and pid % $1 = 0",
        );
        let cut = cut.bind(i32::try_from(one_in).unwrap_or(i32::MAX));
        // A commit that waits for the standby would seem to be done.
        self.primary() != Some(Primary::Lost) && cut.execute(pool).await.is_ok()
    }

    /// Stops the server's process of a connection; says whether there was one. `while_idle`, it holds no lock then.
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
            let stopped = place.and_then(|place| Hung::stop(connection, processes[place]));
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

    /// Lets such connections go on; says whether there were any.
    pub(super) fn resume(&mut self, connection: Connection) -> bool {
        let count = self.hung.len();
        self.hung.retain(|hung| hung.connection != connection);
        self.hung.len() < count
    }

    /// Lets all go on.
    pub(super) fn resume_all(&mut self) {
        self.hung.clear();
    }
}

/// A process of the server that is stopped. It goes on when this is dropped.
struct Hung {
    connection: Connection,
    process: Pid,
}

impl Hung {
    fn stop(connection: Connection, process: Pid) -> Option<Self> {
        kill_process(process, Signal::STOP).ok()?;
        Some(Self {
            connection,
            process,
        })
    }
}

impl Drop for Hung {
    fn drop(&mut self) {
        // It cannot have ended, unless the server killed it.
        let _ = kill_process(self.process, Signal::CONT);
    }
}

/// The server's processes of connections for that purpose; none if it does not say.
async fn list(pool: &Pool, purpose: Purpose) -> Vec<Pid> {
    let found = sqlx::query_scalar(
        "select pid from pg_stat_activity
         where datname = current_database() and backend_type = 'client backend'
           and application_name <> 'chaos' and query like $1
         order by pid",
    );
    let found = found.bind(purpose.statement()).fetch_all(pool);
    let found: Vec<i32> = match timeout(LOOK_PATIENCE, found).await {
        Ok(Ok(found)) => found,
        _ => Vec::new(),
    };
    found.into_iter().filter_map(Pid::from_raw).collect()
}

/// Whether that process waits for its client and for nothing else. One that reads notifications is idle, too, and may
/// hold a lock of the server or stand in the queue for one.
async fn is_idle(pool: &Pool, process: Pid) -> bool {
    let state = sqlx::query_scalar(
        "select state = 'idle' and wait_event = 'ClientRead' from pg_stat_activity where pid = $1",
    );
    let state = state.bind(process.as_raw_pid()).fetch_one(pool);
    let state = timeout(LOOK_PATIENCE, state).await;
    matches!(state, Ok(Ok(Some(true))))
}

async fn start_postgres(home: &Path) -> anyhow::Result<Postgres> {
    let directory = home.join("postgres");
    let starting = move || {
        // A commit survives that the server is killed, and the machine will not be.
        let settings = PostgresSettings {
            durable: false,
            ..PostgresSettings::default()
        };
        let progress = |line: &str| eprintln!("{line}");
        Postgres::start(&directory, &std::env::temp_dir(), settings, &progress)
    };
    Ok(spawn_blocking(starting).await??)
}
