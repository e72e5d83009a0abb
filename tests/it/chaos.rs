//! A little of what `bench chaos` does a lot of.

use tests::chaos::{Options, Setup, roll, run};

use crate::support::PROGRAM;

fn setup() -> Setup {
    Setup {
        program: PROGRAM.into(),
        silence: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_whatever_is_killed_stopped_and_cut_off() {
    let options = Options {
        setup: setup(),
        seed: 1,
        runs: 10,
        worlds: 2,
    };
    let summary = run(&options, |_| {}).await.unwrap();
    assert_eq!(summary.violations, [""; 0]);
    assert_eq!(summary.runs, 10);
    // So that the runs are not harmless ones.
    let done = |fault| summary.faults.get(fault).copied().unwrap_or_default();
    assert!(
        done("workers killed") > 0 && done("restarts of Postgres") > 0,
        "{summary:?}"
    );
    assert!(summary.ends["completed"] > 30, "{summary:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_job_survives_rolling_restarts_and_no_attempt_is_burnt() {
    let rolled = roll(setup(), 60, 6).await.unwrap();
    assert_eq!(rolled.violations, [""; 0]);
    assert_eq!(rolled.handed_back.len(), 6);
}
