//! Concurrent writers of logs, as many as in a fleet, and the cost of their notifications.
//!
//! Each writer has a separate connection and a separate notifier, like a worker process. An API listens.

use std::time::{Duration, Instant};

use anyhow::ensure;
use futures_util::future::try_join_all;
use shared::db::claim::Claimed;
use shared::db::log::{Append, Appended, RunTransition};
use shared::db::{self, DedicatedConnection, DueNotifications, Notifier, Pool};
use shared::event::{EventData, LogLevel, LogLine};
use sqlx::AssertSqlSafe;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use crate::Bench;
use crate::figure::{Figure, median, percentile};
use crate::queue::Queue;
use crate::service::Service;

const WRITERS: usize = 32;
const RUN: Duration = Duration::from_secs(2);
const CONNECTING: Duration = Duration::from_secs(1);
const ROUNDS: usize = 5;
/// The minimum share of the rate without notifications.
const SHARE: f64 = 0.9;

/// The sender of the notifications.
#[derive(Clone, Copy, Debug)]
enum NotifyMode {
    /// None: no notifications are sent.
    Silent,
    /// The notifier of each process. No job has followers.
    Unfollowed,
    /// The notifier of each process. All jobs have followers.
    Followed,
    /// Each statement, in its own transaction.
    InTransaction,
}

impl NotifyMode {
    const ALL: [Self; 4] = [
        Self::Silent,
        Self::Unfollowed,
        Self::Followed,
        Self::InTransaction,
    ];
}

/// The resources of a worker process: a connection for its log and a notifier, both open.
struct Writer {
    db: DedicatedConnection,
    notifier: Notifier,
    _notifying: AbortOnDropHandle<()>,
}

impl Writer {
    async fn open(pool: &Pool) -> anyhow::Result<Self> {
        let (notifier, notifying) = Notifier::new(pool);
        let notifying = AbortOnDropHandle::new(tokio::spawn(notifying));
        notifier.notify(DueNotifications::work());
        let mut db = DedicatedConnection::of(pool);
        db.get().await?;
        Ok(Self {
            db,
            notifier,
            _notifying: notifying,
        })
    }
}

/// The appends per second, and their p99 in milliseconds.
struct Pace {
    per_second: f64,
    p99: f64,
}

pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let service = Service::start(&bench.server, "notify").await?;
    let queue = Queue::open(service.pool.clone()).await?;
    queue.fill(WRITERS).await?;
    let mut jobs = queue.claim(&queue.pool, WRITERS as i64).await?;
    ensure!(jobs.len() == WRITERS, "not all jobs were claimed");
    prepare(&service.pool).await?;
    let mut writers = Vec::new();
    for _ in 0..WRITERS {
        writers.push(Writer::open(&service.pool).await?);
    }
    // Gives the notifiers time to connect.
    sleep(CONNECTING).await;
    let mut paces: [Vec<Pace>; 4] = Default::default();
    // Interleaved, so that all are exposed to the same noise.
    for _ in 0..bench.scale.rounds(ROUNDS) {
        for (mode, paces) in NotifyMode::ALL.into_iter().zip(&mut paces) {
            paces.push(round(bench, &service.pool, &mut writers, &mut jobs, mode).await?);
        }
    }
    let rates = paces.each_ref().map(|paces| {
        let rates: Vec<_> = paces.iter().map(|pace| pace.per_second).collect();
        median(&rates)
    });
    let share = |of: usize| {
        let shares: Vec<_> = paces[of]
            .iter()
            .zip(&paces[0])
            .map(|(pace, silent)| pace.per_second / silent.per_second)
            .collect();
        median(&shares)
    };
    let late = paces.each_ref().map(|paces| {
        let late: Vec<_> = paces.iter().map(|pace| pace.p99).collect();
        median(&late)
    });
    let name = |what: &str| format!("{WRITERS} writers of logs, {what}");
    let rate =
        |what: &str, of: usize| Figure::new(name(what), rates[of], "appends/s").beside(rates[0]);
    Ok(vec![
        Figure::new(name("no notifications"), rates[0], "appends/s"),
        rate("nobody follows", 1),
        rate("all jobs are followed", 2),
        rate("notifications in the transaction", 3),
        Figure::new(
            name("part of the rate without, nobody follows"),
            share(1),
            "",
        )
        .at_least(SHARE),
        Figure::new(name("part of the rate without, all followed"), share(2), "").at_least(SHARE),
        Figure::new(
            name("part of the rate without, in the transaction"),
            share(3),
            "",
        ),
        Figure::new(name("an append, no notifications, p99"), late[0], "ms"),
        Figure::new(name("an append, all jobs are followed, p99"), late[2], "ms").beside(late[0]),
    ])
}

/// Creates a trigger that notifies in the transaction. It is disabled until it is measured.
async fn prepare(pool: &Pool) -> anyhow::Result<()> {
    for statement in [
        "create function notify_at_once() returns trigger language plpgsql as $$
         begin
             perform pg_notify('skillet_events', string_agg(job_id::text, ',')) from appended;
             return null;
         end $$",
        "create trigger notify_at_once after insert on job_event referencing new table as appended
         for each statement execute function notify_at_once()",
        "alter table job_event disable trigger notify_at_once",
    ] {
        sqlx::query(statement).execute(pool).await?;
    }
    Ok(())
}

async fn round(
    bench: &Bench,
    pool: &Pool,
    writers: &mut [Writer],
    jobs: &mut [Claimed],
    mode: NotifyMode,
) -> anyhow::Result<Pace> {
    let is_at_once = matches!(mode, NotifyMode::InTransaction);
    let switch = if is_at_once { "enable" } else { "disable" };
    let switch = format!("alter table job_event {switch} trigger notify_at_once");
    sqlx::query(AssertSqlSafe(switch)).execute(pool).await?;
    sqlx::query("truncate followed_job").execute(pool).await?;
    if matches!(mode, NotifyMode::Followed) {
        let ids: Vec<_> = jobs.iter().map(|claimed| claimed.job.id).collect();
        db::followed_job::publish(pool, &ids).await?;
    }
    let run = bench.scale.lasting(RUN);
    let begun_at = Instant::now();
    let has_notifier = matches!(mode, NotifyMode::Unfollowed | NotifyMode::Followed);
    let each = writers.iter_mut().zip(jobs).map(|(writer, job)| {
        let until = begun_at + run;
        append_until(until, writer, job, has_notifier)
    });
    let all: Vec<_> = try_join_all(each).await?.concat();
    Ok(Pace {
        per_second: all.len() as f64 / begun_at.elapsed().as_secs_f64(),
        p99: percentile(&all, 99),
    })
}

/// Appends to the log of a job until this time, and returns the milliseconds of each append.
async fn append_until(
    until: Instant,
    writer: &mut Writer,
    job: &mut Claimed,
    has_notifier: bool,
) -> anyhow::Result<Vec<f64>> {
    let mut millis = Vec::new();
    while Instant::now() < until {
        let append = Append {
            lease: job.lease,
            base: job.last_seq,
            events: vec![line()],
            next: RunTransition::Continue,
        };
        let sent_at = Instant::now();
        let Appended { valid, due } = db::log::append(writer.db.get().await?, &[append]).await?;
        ensure!(valid == [job.lease], "a lease was lost");
        job.last_seq += 1;
        if has_notifier {
            writer.notifier.notify(due);
        }
        millis.push(sent_at.elapsed().as_secs_f64() * 1e3);
    }
    Ok(millis)
}

fn line() -> EventData {
    EventData::Log(LogLine {
        level: LogLevel::Info,
        message: "One of very many writers has something to say.".to_owned(),
    })
}
