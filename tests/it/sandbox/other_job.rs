//! Isolation from another job of the same worker.

use super::attack::ServicePair;
use super::user::User;
use super::{processes_named, unique};
use crate::support::{Service, until};

/// A job that runs until its worker ends, with a secret in its workspace.
struct OtherJob {
    /// The path of the secret on the host.
    secret: String,
    /// The id of one of its processes on the host.
    process: i32,
}

impl OtherJob {
    async fn start(service: &Service) -> Self {
        let nap = unique("70");
        let command = format!("echo hidden > secret; exec -a {nap} sleep 1000");
        service.create_shell(&command).await;
        let mut process = None;
        until(async || {
            process = processes_named(&nap).pop();
            process.is_some()
        })
        .await;
        let process = process.unwrap().as_raw_nonzero().get();
        // The path on the host, which the test can read.
        let workspaces = service.home.path().join("worker-0/workspaces");
        let mut secret = None;
        until(async || {
            let folders = std::fs::read_dir(&workspaces).unwrap().flatten();
            let jobs = folders.filter_map(|folder| std::fs::read_dir(folder.path()).ok());
            secret = jobs
                .flatten()
                .flatten()
                .map(|job| job.path().join("workspace/secret"))
                .find(|path| path.exists());
            secret.is_some()
        })
        .await;
        let secret = secret.unwrap().display().to_string();
        Self { secret, process }
    }
}

#[tokio::test]
async fn its_files_are_out_of_reach_by_every_path() {
    let user = User::new();
    let Some(services) = ServicePair::of(&user).await else {
        return;
    };
    let (inside, outside) = tokio::join!(
        OtherJob::start(&services.inside),
        OtherJob::start(&services.outside)
    );
    // Each attack targets the other job in its own service.
    let choose = format!(
        "if [[ $PWD == /workspace ]]; then secret={} process={}; else secret={} process={}; fi",
        inside.secret, inside.process, outside.secret, outside.process
    );
    let attacks = [
        "cat $secret",
        "cat ../../*/workspace/secret",
        "cat ../../../../../../../../../../..$secret",
        "cat /proc/self/root$secret",
        "cat /proc/self/cwd/../../*/workspace/secret",
        "cat /proc/$process/cwd/secret",
        "cat /proc/$process/root$secret",
        "cat /proc/[0-9]*/cwd/secret 2>/dev/null || { echo No such file; false; }",
        "ln $secret mine && cat mine",
        "ln -s $secret link && cat link",
        "cp -r ${secret%/*} copy && cat copy/secret",
        "echo changed > $secret",
        "kill -0 $process || { echo No such file; false; }",
        "ls /proc/$process || exit 1",
    ];
    let attacks = attacks.map(|attack| format!("{choose}; {attack}"));
    for tried in services.all(&attacks).await {
        tried.fails_inside("No such file").succeeds_outside();
    }
    let unchanged = std::fs::read_to_string(&inside.secret).unwrap();
    assert_eq!(unchanged, "hidden\n");
}

#[tokio::test]
async fn what_one_job_leaves_in_shared_places_the_next_does_not_find() {
    let Some(services) = ServicePair::of_root().await else {
        return;
    };
    let name = unique("left");
    let leave = format!("echo x > /tmp/{name}; echo x > /dev/shm/{name}; [[ -e /tmp/{name} ]]");
    services.bash(&leave).await.succeeds_outside();
    let find = format!("cat /tmp/{name} && cat /dev/shm/{name} && rm /tmp/{name} /dev/shm/{name}");
    services
        .bash(&find)
        .await
        .fails_inside("No such file")
        .succeeds_outside();
    // System V shared memory outlives its creator in its namespace.
    let key = std::process::id();
    let shm = |flags: i32| format!("call({}, {key}, 4096, {flags})", libc::SYS_shmget);
    services.python(&shm(0o1666)).await.succeeds_outside();
    let find = format!(
        "segment = {}\ncall({}, segment, 0, 0)",
        shm(0),
        libc::SYS_shmctl
    );
    services
        .python(&find)
        .await
        .fails_inside("ENOENT")
        .succeeds_outside();
}
