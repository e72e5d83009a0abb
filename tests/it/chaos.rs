//! A short run of `bench chaos`.

use tests::chaos::{Options, Setup, roll, run};

use crate::support::{PROGRAM, has_program, is_all_required, python_with_s3};

async fn setup() -> Setup {
    let setup = Setup {
        s3_python: python_with_s3().await,
        has_pooler: has_program("pgbouncer"),
        ..Setup::of(PROGRAM.into())
    };
    for (is_there, what) in [
        (setup.wrong_clock.is_some(), "libfaketime"),
        (setup.has_standby, "pg_basebackup"),
    ] {
        assert!(
            is_there || !is_all_required(),
            "this test needs {what}, and SKILLET_TEST_REQUIRE=all"
        );
    }
    setup
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_whatever_is_killed_stopped_and_cut_off() {
    let options = Options {
        setup: setup().await,
        seed: 233,
        runs: 10,
        services: 2,
        // The seeds select a bucket with a standby, then a bucket with a pooler, then neither.
        deployment: None,
    };
    let summary = run(&options, |_| {}).await.unwrap();
    assert_eq!(summary.violations, [""; 0]);
    assert_eq!(summary.runs, 10);
    // Check that the runs had the important faults.
    let mut faults = vec![
        "workers killed",
        "restarts of Postgres",
        "connections hung for a while",
        "connections hung for good",
        "updates of all workers",
        "outages of webhook receivers",
    ];
    if options.setup.wrong_clock.is_some() {
        faults.push("clocks three weeks ahead");
    }
    if options.setup.s3_python.is_some() {
        faults.extend(["buckets stopped for a while", "buckets cut off"]);
    }
    if options.setup.has_pooler {
        faults.push("poolers killed");
    }
    if options.setup.has_standby {
        faults.push("primaries lost");
    }
    for fault in faults {
        assert!(summary.faults.contains_key(fault), "{fault}: {summary:?}");
    }
    assert!(summary.ends["completed"] > 30, "{summary:?}");
    assert!(summary.deliveries > 150, "{summary:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_job_survives_rolling_restarts_and_no_attempt_is_burnt() {
    let rolled = roll(setup().await, 60, 6).await.unwrap();
    assert_eq!(rolled.violations, [""; 0]);
    assert_eq!(rolled.handed_back.len(), 6);
}
