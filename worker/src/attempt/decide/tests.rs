//! Tests of the decision, without a database.

use serde_json::json;
use shared::id::JobId;

use super::*;

fn job(attempt: i32) -> Job {
    serde_json::from_value(json!({
        "id": JobId::new(),
        "status": "running",
        "skill": "summarise",
        "agent": null,
        "agent_version": null,
        "conversation_id": null,
        "model": "script/bash",
        "attempt": attempt,
        "retry_of": null,
        "created_at": "2026-01-01T00:00:00Z",
        "started_at": "2026-01-01T00:00:00Z",
        "finished_at": null,
        "text": null,
        "outputs": [],
        "stop_reason": null,
        "error": null,
        "usage": serde_json::to_value(JobResult::default()).unwrap()["usage"],
        "warnings": [],
        "metadata": {},
    }))
    .unwrap()
}

fn state(job: &Job) -> AttemptState<'_> {
    AttemptState {
        declares_outputs: false,
        job,
        limits: Limits::DEFAULT,
        max_attempts: 3,
        failures: 0,
        model_outages: 0,
        unreadable: 0,
        now: DateTime::UNIX_EPOCH,
    }
}

fn decided(outcome: AttemptOutcome, state: &AttemptState<'_>) -> AttemptDecision {
    decide(outcome, state, PartialResult::default()).unwrap()
}

/// Returns the types of the events, joined by spaces.
fn kinds(decision: &AttemptDecision) -> String {
    let kinds = decision
        .events
        .iter()
        .map(|event| event.to_stored().0.to_owned());
    kinds.collect::<Vec<_>>().join(" ")
}

/// Returns the pause before the next attempt in seconds, or `None` if there is no automatic retry.
fn pause(decision: &AttemptDecision) -> Option<i64> {
    match decision.next {
        RunTransition::Requeue { run_at, .. } => Some(run_at.timestamp()),
        _ => None,
    }
}

fn is_failed(decision: &AttemptDecision, code: JobErrorCode) -> bool {
    matches!(
        decision.events.last(),
        Some(EventData::JobFailed(job)) if job.result.error.as_ref().is_some_and(|it| it.code == code)
    )
}

fn call() -> ToolCall {
    ToolCall {
        call_id: "c1".to_owned(),
        tool: "shell.exec".to_owned(),
        input: json!({"command": "ls"}),
        malformed: None,
    }
}

#[test]
fn a_lost_lease_writes_nothing() {
    let job = job(1);
    let decision = decide(AttemptOutcome::Lost, &state(&job), PartialResult::default());
    assert!(decision.is_none());
}

#[test]
fn a_loop_that_stopped_at_a_limit_completes_the_job_with_a_warning() {
    let job = job(1);
    let stopped = AttemptOutcome::Stopped(LoopStop::MaxIterations);
    assert_eq!(kinds(&decided(stopped, &state(&job))), "log job.completed");
    let ended = AttemptOutcome::Stopped(LoopStop::EndTurn);
    assert_eq!(kinds(&decided(ended, &state(&job))), "job.completed");
}

#[test]
fn unanswered_calls_get_their_results_only_if_the_job_is_over() {
    let job = job(1);
    let partial = || {
        let completed = shared::event::ToolCompleted::unanswered("c1".to_owned());
        PartialResult {
            structured: None,
            result: JobResult::default(),
            unanswered: vec![EventData::ToolCompleted(completed)],
        }
    };
    let cancelled = decide(AttemptOutcome::Cancelled, &state(&job), partial()).unwrap();
    assert_eq!(kinds(&cancelled), "tool.completed job.cancelled");
    let drained = decide(AttemptOutcome::Drained, &state(&job), partial()).unwrap();
    assert_eq!(
        (kinds(&drained).as_str(), pause(&drained)),
        ("job.retrying", Some(0))
    );
}

#[test]
fn waiting_requests_each_approval_until_the_same_time() {
    let job = job(1);
    let calls = vec![call(), call()];
    let decision = decided(AttemptOutcome::Waiting(calls), &state(&job));
    let expected = "approval.requested approval.requested job.waiting";
    assert_eq!(kinds(&decision), expected);
    assert!(matches!(decision.next, RunTransition::Wait));
}

#[test]
fn the_fifth_outage_of_a_provider_fails_the_job() {
    let job = job(1);
    let outage = || AttemptOutcome::ModelOutage {
        message: "overloaded".to_owned(),
        retry_after: None,
    };
    let after = |model_outages| {
        let state = AttemptState {
            model_outages,
            ..state(&job)
        };
        decided(outage(), &state)
    };
    assert_eq!(
        [0, 1, 3].map(|it| pause(&after(it))),
        [Some(10), Some(20), Some(80)]
    );
    assert!(is_failed(&after(4), JobErrorCode::ModelUnavailable));
}

#[test]
fn a_pause_of_a_provider_counts_as_no_outage() {
    let job = job(1);
    let state = AttemptState {
        model_outages: 4,
        ..state(&job)
    };
    let outcome = AttemptOutcome::ProviderPause {
        message: "later".to_owned(),
        retry_after: Duration::from_secs(90),
    };
    let decision = decided(outcome, &state);
    assert_eq!(pause(&decision), Some(90));
    let RunTransition::Requeue { cause, .. } = decision.next else {
        panic!("the job ended");
    };
    assert_eq!(cause, RetryCause::ProviderPause);
}

#[test]
fn an_internal_error_is_retried_until_the_attempts_are_used_up() {
    let job = job(1);
    let after = |failures| {
        let state = AttemptState {
            failures,
            ..state(&job)
        };
        decided(AttemptOutcome::Internal(anyhow::anyhow!("broken")), &state)
    };
    assert_eq!([0, 1].map(|it| pause(&after(it))), [Some(1), Some(2)]);
    let last = after(2);
    assert!(is_failed(&last, JobErrorCode::Internal));
    assert_eq!(last.report.unwrap().kind, AttemptReportKind::Internal);
}

#[test]
fn an_outage_of_the_database_is_retried_without_counting_as_a_failure() {
    let outage = || AttemptOutcome::Internal(shared::db::Error::PoolTimedOut.into());
    let job_of = job;
    let job = job_of(99);
    let early = decided(outage(), &state(&job));
    assert_eq!(pause(&early), Some(32));
    let RunTransition::Requeue { cause, .. } = early.next else {
        panic!("retried")
    };
    assert_eq!(cause, RetryCause::DatabaseOutage);
    let job = job_of(100);
    let late = decided(outage(), &state(&job));
    assert_eq!(late.report.unwrap().kind, AttemptReportKind::Internal);
}

#[test]
fn a_provider_may_ask_for_an_hour_and_no_more() {
    let seconds = |earlier, asked| backoff::after_model_outage(earlier, asked).as_secs();
    assert_eq!(seconds(0, None), 10);
    assert_eq!(seconds(2, Some(Duration::from_secs(30))), 40);
    assert_eq!(seconds(2, Some(Duration::from_secs(90))), 90);
    assert_eq!(seconds(i16::MAX, Some(Duration::MAX)), 3600);
    for asked in [31_536_000.0, 1e19] {
        let asked = Some(Duration::from_secs_f64(asked));
        assert_eq!(seconds(0, asked), 3600);
        // The addition must not overflow.
        let _ = Utc::now() + backoff::after_model_outage(0, asked);
    }
}
