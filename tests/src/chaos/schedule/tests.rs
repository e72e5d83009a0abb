//! Properties of all schedules.

use super::*;

#[test]
fn a_seed_gives_the_same_run_each_time_and_another_one_another() {
    assert_eq!(Schedule::of(7).to_string(), Schedule::of(7).to_string());
    assert_ne!(Schedule::of(7).to_string(), Schedule::of(8).to_string());
}

#[test]
fn whatever_goes_wrong_is_brought_in_order_again() {
    for seed in 0..500 {
        let faults = Schedule::of(seed).faults;
        let count =
            |wanted: fn(&Fault) -> bool| faults.iter().filter(|(_, fault)| wanted(fault)).count();
        let ended = count(|fault| matches!(fault, Fault::Kill(_) | Fault::Drain(_)));
        assert_eq!(ended, count(|fault| matches!(fault, Fault::Start(_))));
        let stopped = count(|fault| matches!(fault, Fault::Stop(_)));
        assert_eq!(stopped, count(|fault| matches!(fault, Fault::Continue(_))));
        let hung = count(|fault| matches!(fault, Fault::Hang(_)));
        assert_eq!(hung, count(|fault| matches!(fault, Fault::Resume(_))));
        let ended = count(|fault| matches!(fault, Fault::KillApi(_)));
        assert_eq!(ended, count(|fault| matches!(fault, Fault::StartApi(_))));
        let down = count(|fault| matches!(fault, Fault::ReceiversDown(_)));
        assert_eq!(down, count(|fault| *fault == Fault::ReceiversUp));
    }
}

#[test]
fn a_job_of_the_next_version_comes_with_an_update_of_all_workers() {
    let is_next = |job: &&Planned| job.kind == Kind::NextVersion;
    for seed in 0..500 {
        let Schedule { jobs, faults, .. } = Schedule::of(seed);
        let updates = faults.iter().filter(|(_, it)| *it == Fault::Release);
        assert_eq!(jobs.iter().filter(is_next).count(), updates.clone().count());
        let Some((released_at, _)) = updates.min_by_key(|(at, _)| *at) else {
            continue;
        };
        for worker in 0..WORKERS {
            let mut drained = faults.iter().filter(|(_, it)| *it == Fault::Drain(worker));
            assert!(drained.any(|(at, _)| at >= released_at));
        }
    }
}

#[test]
fn a_deployment_adds_faults_of_its_own_that_end() {
    let all = Deployment {
        bucket: true,
        pooler: true,
        standby: false,
    };
    for seed in 0..100 {
        let plain = Schedule::of(seed);
        assert_eq!(
            plain.clone().with_deployment(Deployment::default()).faults,
            plain.faults
        );
        let faults = plain.clone().with_deployment(all).faults;
        let count = |wanted| faults.iter().filter(|(_, fault)| *fault == wanted).count();
        let (stopped, closed) = (count(Fault::StopBucket), count(Fault::CloseBucket));
        assert!(stopped + closed > 0 && count(Fault::KillPooler) > 0);
        assert_eq!(stopped, count(Fault::ContinueBucket));
        assert_eq!(closed, count(Fault::OpenBucket));
        assert_eq!(count(Fault::KillPooler), count(Fault::StartPooler));
        assert!(plain.faults.iter().all(|fault| faults.contains(fault)));
    }
}

#[test]
fn a_service_with_a_standby_loses_its_primary_once_and_its_only_server_never() {
    let deployment = Deployment {
        standby: true,
        ..Deployment::default()
    };
    for seed in 0..100 {
        let Schedule { jobs, faults, .. } = Schedule::of(seed).with_deployment(deployment);
        let of_standby = faults
            .iter()
            .filter(|(_, fault)| matches!(fault, Fault::LosePrimary(_) | Fault::Promote));
        let of_standby: Vec<_> = of_standby.map(|(_, fault)| *fault).collect();
        assert!(matches!(
            of_standby[..],
            [Fault::LosePrimary(_), Fault::Promote]
        ));
        let others = [Fault::RestartPostgres, Fault::Release];
        assert!(faults.iter().all(|(_, fault)| !others.contains(fault)));
        assert!(jobs.iter().all(|job| job.kind != Kind::NextVersion));
    }
}

#[test]
fn right_clocks_change_nothing_else() {
    let seed = (0..100).find(|seed| {
        let faults = Schedule::of(*seed).faults;
        let mut faults = faults.iter();
        faults.any(|(_, fault)| matches!(fault, Fault::ClockAhead(_)))
    });
    let wrong = Schedule::of(seed.unwrap());
    let right = wrong.clone().with_right_clocks().to_string();
    let wrong = wrong.to_string();
    let others = wrong.lines().filter(|line| !line.contains("ClockAhead"));
    assert_eq!(
        right.lines().collect::<Vec<_>>(),
        others.collect::<Vec<_>>()
    );
}
