//! The log of a job: content, order and pages.

use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use shared::db;
use shared::db::claim::Claimed;
use shared::db::log::{Append, Lease, RunTransition, finish};
use shared::db::worker::NewWorker;
use shared::event::{EventData, JobRetrying, LogLevel, LogLine, RetryCause};
use shared::id::{JobId, WorkerId};
use shared::job::{JobResult, Outcome};
use shared::sandbox::{Isolation, MemoryLimit};
use tests::model_server::Reply;

use crate::support::log::{assert_whole, data, text, types};
use crate::support::{Service, bash, scripted, until};

const CLAUDE: &str = "anthropic/claude-test";

#[tokio::test]
async fn a_log_is_dense_and_ends_with_the_job_itself() {
    let mut service = Service::without_worker().await;
    let cancelled = service.create_shell("true").await;
    service
        .post(&format!("/v1/jobs/{cancelled}/cancel"), &Value::Null)
        .await;
    service.add_worker(&[]).await;
    let completed = service.create_shell("echo hello").await;
    service.model.script("refused", [Reply::status(400)]);
    let failed = service.create(&scripted(CLAUDE, "refused")).await;

    for (job, last) in [
        (cancelled, "job.cancelled"),
        (completed, "job.completed"),
        (failed, "job.failed"),
    ] {
        let shown = service.finished(&job).await;
        let events = service.events(&job).await;
        assert_whole(&events);
        assert_eq!(events[0]["type"], "job.queued");
        if last != "job.cancelled" {
            assert_eq!(events[1]["type"], "job.started");
        }
        let end = events.last().unwrap();
        assert_eq!((&end["type"], &end["data"]), (&json!(last), &shown));
    }
}

#[tokio::test]
async fn what_a_job_made_can_be_downloaded_when_its_last_event_arrives() {
    let service = Service::with_maker().await;
    let prompt = bash("seq 100000 > a.txt; seq 7 > b.csv")
        + "\noutput document: a.txt\noutput document: b.csv";
    let job = json!({"skill": "maker", "model": "script/bash", "prompt": prompt});
    let job = service.create(&job).await;
    let mut stream = service.follow(&job, 0).await;
    let end = loop {
        let event = stream.next().await.expect("an end");
        if event["type"] == "job.completed" {
            break event;
        }
    };
    let outputs = end["data"]["outputs"].as_array().unwrap();
    assert_eq!(outputs.len(), 2);
    for output in outputs {
        let content = service.download(&output["asset"]).await;
        assert_eq!(
            output["asset"]["sha256"],
            hex::encode(Sha256::digest(&content))
        );
        assert_eq!(output["asset"]["size"], content.len());
    }
}

#[tokio::test]
async fn many_pieces_become_few_events_while_the_database_is_busy() {
    let service = Service::start().await;
    // 360 pieces of 3, 1, 7, 2, 12 and 5 characters.
    let words = "abcdefghijklmnopqrstuvwxyz 123".repeat(60);
    let pieces = 360;
    let first = Reply::text(&words)
        .delay(Duration::from_secs(1))
        .end_after(pieces + 3);
    service.model.script("long", [first, Reply::text(&words)]);
    let job = service.create(&scripted(CLAUDE, "long")).await;

    until(async || service.model.requests("long").len() == 1).await;
    let mut busy = service.pool.begin().await.unwrap();
    sqlx::query("select from run where job_id = $1 for update")
        .bind(job.parse::<JobId>().unwrap())
        .execute(&mut *busy)
        .await
        .unwrap();
    // The second request shows that the worker has read all of the first reply.
    until(async || service.model.requests("long").len() == 2).await;
    busy.rollback().await.unwrap();

    assert_eq!(service.finished(&job).await["text"], words);
    let events = service.events(&job).await;
    assert_eq!(text(&events, "message.delta"), words);
    let rows = data(&events, "message.delta").len();
    assert!(rows <= 5, "{pieces} pieces became {rows} events");
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_call_is_in_the_log_before_anything_that_it_prints() {
    let service = Service::start().await;
    let commands = (0..5).map(|number| bash(&format!("echo {number}; echo e{number} >&2")));
    let prompt = commands.collect::<Vec<_>>().join("\n");
    let job = service
        .run(&json!({"skill": "shell", "model": "script/bash", "prompt": prompt}))
        .await;
    let events = service.events(job["id"].as_str().unwrap()).await;
    let mut open = None;
    let mut printed = String::new();
    for event in &events {
        let call = event["data"]["call_id"].as_str();
        match event["type"].as_str().unwrap() {
            "tool.started" => open = call,
            "tool.output" => {
                assert_eq!(call, open, "{event}");
                if event["data"]["stream"] == "stdout" {
                    printed += event["data"]["text"].as_str().unwrap();
                }
            }
            "tool.completed" => {
                assert_eq!(call, open, "{event}");
                open = None;
            }
            _ => assert_eq!(open, None, "{event}"),
        }
    }
    assert_eq!(printed, "0\n1\n2\n3\n4\n");
}

#[tokio::test]
async fn a_log_is_read_in_pages_and_by_type() {
    let service = Service::start().await;
    let job = service.create_shell("echo hello").await;
    service.finished(&job).await;
    let all = service.events(&job).await;
    let page = async |query: &str| {
        service
            .get(&format!("/v1/jobs/{job}/events?{query}"))
            .await
            .1
    };

    let (mut read, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = page(&format!("limit=2{cursor}")).await;
        let data = page["data"].as_array().unwrap().clone();
        assert!((1..=2).contains(&data.len()));
        read.extend(data);
        let Some(next) = page["next_cursor"].as_str() else {
            break;
        };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(read, all);
    let nothing = page(&format!("after={}", all.len())).await;
    assert_eq!(nothing, json!({"data": [], "next_cursor": null}));
    let rest = page("after=2").await;
    assert_eq!(rest["data"].as_array().unwrap(), &all[2..]);

    let some = page("types=tool.completed,tool.started").await;
    assert_eq!(
        types(some["data"].as_array().unwrap()),
        ["tool.started", "tool.completed"]
    );
    let one = page("types=tool.completed,tool.started&limit=1").await;
    assert_eq!(types(one["data"].as_array().unwrap()), ["tool.started"]);
    for wrong in ["limit=0", "limit=1001", "types=tool.finished", "after=x"] {
        let (status, problem) = service.get(&format!("/v1/jobs/{job}/events?{wrong}")).await;
        assert_eq!(status, 400, "{wrong}: {problem}");
    }
}

/// Claims the only job.
async fn claim(service: &Service) -> Claimed {
    let new = NewWorker {
        name: "by hand".to_owned(),
        home: "nowhere".to_owned(),
        slots: 1,
        programs: Vec::new(),
        skills: vec!["shell".to_owned()],
        providers: Vec::new(),
        isolation: Isolation::Namespaced,
        memory_limit: MemoryLimit::Watched,
        renders_previews: false,
    };
    let worker = db::worker::insert(&service.pool, &new).await.unwrap();
    let mut claims = db::claim::claim(&service.pool, worker, &new.skills, 1, true)
        .await
        .unwrap();
    assert_eq!(claims.len(), 1);
    let Ok(claimed) = claims.remove(0) else {
        panic!("it can be read")
    };
    claimed
}

#[tokio::test]
async fn of_two_leases_of_a_job_in_one_append_only_the_good_one_is_written() {
    let service = Service::without_worker().await;
    let job = service.create_shell("true").await;
    let first = claim(&service).await;
    let line = |message: &str| {
        EventData::Log(LogLine {
            level: LogLevel::Warning,
            message: message.to_owned(),
        })
    };
    let append = |lease, base, messages: &[&str]| Append {
        lease,
        base,
        events: messages.iter().map(|message| line(message)).collect(),
        next: RunTransition::Continue,
    };
    let (cause, run_at) = (RetryCause::Crash, first.claimed_at);
    let taken_over = Append {
        next: RunTransition::Requeue { cause, run_at },
        ..append(first.lease, first.last_seq, &["taken over"])
    };
    db::log::append(&service.pool, &[taken_over]).await.unwrap();
    let second = claim(&service).await;
    for base in [first.last_seq, second.last_seq] {
        // The append of the superseded lease comes first or last, and starts at its own position or at that of the
        // other lease.
        let late = append(first.lease, base, &["late", "late"]);
        let (_, page) = service.get(&format!("/v1/jobs/{job}/events")).await;
        let last = page["data"].as_array().unwrap().len() as i64;
        let good = append(second.lease, last, &["good"]);
        let batch = if base == first.last_seq {
            [late, good]
        } else {
            [good, late]
        };
        let written = db::log::append(&service.pool, &batch).await.unwrap();
        assert_eq!(written.valid, [second.lease]);
    }
    let events = service.events(&job).await;
    let lines = data(&events, "log");
    let lines: Vec<_> = lines
        .iter()
        .map(|line| line["message"].as_str().unwrap())
        .collect();
    assert_eq!(lines, ["taken over", "good", "good"]);
    let numbers = events.iter().map(|event| event["seq"].as_i64().unwrap());
    assert!(numbers.eq(1..=events.len() as i64), "{events:#?}");
}

#[tokio::test]
async fn what_another_wrote_in_its_place_is_not_taken_for_an_append_whose_answer_got_lost() {
    let service = Service::without_worker().await;
    let job = service.create_shell("true").await;
    let claimed = claim(&service).await;
    let append = |event, next| Append {
        lease: claimed.lease,
        base: claimed.last_seq,
        events: vec![event],
        next,
    };
    let (ended, next) = finish(
        claimed.job.clone(),
        Outcome::Completed,
        claimed.claimed_at,
        JobResult::default(),
    );
    let own = append(ended, next);
    let cause = RetryCause::Crash;
    let retrying = EventData::JobRetrying(JobRetrying {
        cause,
        message: "it fell silent".to_owned(),
        run_at: claimed.claimed_at,
    });
    let run_at = claimed.claimed_at;
    let other = append(retrying, RunTransition::Requeue { cause, run_at });
    let other = [other];
    let good = db::log::append(&service.pool, &other).await.unwrap();
    assert_eq!(good.valid, [claimed.lease]);
    let written = async |append: &Append| {
        let appends = [(append, claimed.job.attempt)];
        let written = db::log::list_written(&service.pool, &appends).await;
        written.unwrap().len()
    };
    assert_eq!(
        written(&own).await,
        0,
        "its number and its attempt are the same"
    );
    assert_eq!(written(&other[0]).await, 1);
    assert_eq!(service.events(&job).await.len(), 2);
}

#[tokio::test]
async fn an_event_is_not_older_than_the_one_before_it() {
    let service = Service::without_worker().await;
    let job = service.create_shell("true").await;
    let claimed = claim(&service).await;
    let append = |base| {
        let line = LogLine {
            level: LogLevel::Warning,
            message: "a line".to_owned(),
        };
        Append {
            lease: claimed.lease,
            base,
            events: vec![EventData::Log(line)],
            next: RunTransition::Continue,
        }
    };
    // The transaction begins before the other event is written, like an append that waits for the row of the job.
    let mut late = service.pool.begin().await.unwrap();
    sqlx::query("select now()")
        .execute(&mut *late)
        .await
        .unwrap();
    db::log::append(&service.pool, &[append(1)]).await.unwrap();
    let written = db::log::append(&mut *late, &[append(2)]).await.unwrap();
    assert_eq!(written.valid, [claimed.lease]);
    late.commit().await.unwrap();
    let events = service.events(&job).await;
    let times: Vec<_> = events.iter().map(|it| it["at"].as_str().unwrap()).collect();
    assert_eq!(times.len(), 3);
    assert!(times.is_sorted(), "{times:?}");
}

#[tokio::test]
async fn a_worker_that_lost_an_earlier_lease_of_a_job_keeps_the_current_one() {
    let service = Service::without_worker().await;
    service.create_shell("true").await;
    let claimed = claim(&service).await;
    let worker = sqlx::query_scalar("select worker_id from run");
    let worker = WorkerId(worker.fetch_one(&service.pool).await.unwrap());
    let earlier = Lease {
        number: claimed.lease.number - 1,
        ..claimed.lease
    };
    let mut transaction = service.pool.begin().await.unwrap();
    for (lost, expected) in [(earlier, 0), (claimed.lease, 1)] {
        let orphans = db::run::lock_orphans(&mut transaction, worker, &[lost], 10).await;
        assert_eq!(orphans.unwrap().len(), expected, "{lost:?}");
    }
}
