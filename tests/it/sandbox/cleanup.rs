//! Cleanup after a thousand commands, fifty of them concurrent.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use tokio::time::sleep;

use super::{processes_named, unique};
use crate::support::log::data;
use crate::support::{Service, bash, is_root, until};

const JOBS: usize = 50;
const ROUNDS: usize = 5;
/// Sequential commands of each job.
const COMMANDS: usize = 4;
/// Consecutive identical observations that show that nothing changes any more.
const EQUAL_OBSERVATIONS: usize = 10;
const MAX_OBSERVATIONS: usize = 300;

#[tokio::test]
async fn after_a_thousand_commands_fifty_at_a_time_nothing_of_them_is_left() {
    // Only root can see the open files of another process.
    if !is_root() {
        return;
    }
    let mut service = Service::without_worker().await;
    service.add_worker(&[("SKILLET_SLOTS", "50")]).await;
    let name = unique("left");
    // Resources that are created once and kept exist after the first round.
    run(&service, &name).await;
    let before = LeftoverResources::at_rest(&service, &name).await;
    assert!(before.descriptors.contains_key("socket"), "{before:?}");
    for _ in 1..ROUNDS {
        run(&service, &name).await;
    }
    assert_eq!(LeftoverResources::at_rest(&service, &name).await, before);
    assert_eq!(before.processes, 0);
    assert_eq!(before.children, 1, "the launcher");
    assert_eq!(before.workspaces, [""; 0]);
}

/// Runs a round of concurrent jobs.
async fn run(service: &Service, name: &str) {
    let command = format!(
        "(exec -a {name} sleep 1000) & echo x | cat > \"/tmp/file-$RANDOM\"; [[ $$ -lt 100 ]] && echo fine"
    );
    let prompt = vec![bash(&command); COMMANDS].join("\n");
    let job = json!({"skill": "shell", "model": "script/bash", "prompt": prompt});
    let jobs = join_all((0..JOBS).map(|_| service.create(&job))).await;
    let running = "select count(*) from run";
    until(async || {
        let running = sqlx::query_scalar::<_, i64>(running);
        running.fetch_one(&service.pool).await.unwrap() == 0
    })
    .await;
    for job in jobs {
        let ended = service.finished(&job).await;
        assert_eq!(ended["text"], "fine", "{ended:#}");
        let completed = data(&service.events(&job).await, "tool.completed").len();
        assert_eq!(completed, COMMANDS);
    }
}

/// Everything that a command might leave on the machine.
#[derive(Debug, PartialEq, Eq)]
struct LeftoverResources {
    processes: usize,
    /// Descriptors of the worker and its children, by kind.
    descriptors: BTreeMap<String, usize>,
    children: usize,
    mounts: String,
    workspaces: Vec<String>,
    cgroups: Vec<String>,
}

impl LeftoverResources {
    /// Waits until the resources no longer change. The end of a job is reported before its last resources are removed,
    /// and a worker may still query the versions of its programs in a separate workspace.
    async fn at_rest(service: &Service, name: &str) -> Self {
        let mut before = Self::of(service, name).await;
        let mut unchanged = 0;
        for _ in 0..MAX_OBSERVATIONS {
            sleep(Duration::from_millis(200)).await;
            let now = Self::of(service, name).await;
            let is_at_rest = now == before && now.workspaces.is_empty();
            unchanged = if is_at_rest { unchanged + 1 } else { 0 };
            before = now;
            if unchanged == EQUAL_OBSERVATIONS {
                return before;
            }
        }
        panic!("there is no rest: {before:?}");
    }

    async fn of(service: &Service, name: &str) -> Self {
        let worker = service.workers[0].id();
        let children = children(worker);
        let mut descriptors = BTreeMap::new();
        for process in children.iter().copied().chain([worker]) {
            for entry in entries(Path::new(&format!("/proc/{process}/fd"))) {
                let Ok(target) = std::fs::read_link(&entry) else {
                    continue;
                };
                let target = target.display().to_string();
                let kind = target.split(':').next().unwrap().to_owned();
                *descriptors.entry(kind).or_default() += 1;
            }
        }
        // The number of the worker's database connections varies.
        let connections = "select count(*) from pg_stat_activity
            where datname = current_database() and application_name = 'skillet worker'";
        let connections: i64 = sqlx::query_scalar(connections)
            .fetch_one(&service.pool)
            .await
            .unwrap();
        let sockets: &mut usize = descriptors.entry("socket".to_owned()).or_default();
        *sockets = sockets.saturating_sub(usize::try_from(connections).unwrap());
        let workspaces = entries(&service.home.path().join("worker-0/workspaces"));
        Self {
            processes: processes_named(name).len(),
            descriptors,
            children: children.len(),
            mounts: std::fs::read_to_string("/proc/self/mountinfo").unwrap(),
            workspaces: workspaces
                .iter()
                .flat_map(|folder| entries(folder))
                .map(|path| path.display().to_string())
                .collect(),
            cgroups: cgroups(Path::new("/sys/fs/cgroup"), &format!("command-{worker}-")),
        }
    }
}

/// Returns all descendants of a process, including the orphans that it adopted.
fn children(process: u32) -> Vec<u32> {
    let parent = |id: u32| -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        stat.rsplit_once(')')?
            .1
            .split_whitespace()
            .nth(1)?
            .parse()
            .ok()
    };
    let all = entries(Path::new("/proc"));
    let all = all
        .iter()
        .filter_map(|path| path.file_name()?.to_str()?.parse().ok());
    let is_below =
        |id: &u32| std::iter::successors(parent(*id), |it| parent(*it)).any(|it| it == process);
    all.filter(is_below).collect()
}

fn entries(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn cgroups(folder: &Path, prefix: &str) -> Vec<String> {
    let folders = entries(folder).into_iter();
    let folders = folders.filter(|path| path.is_dir() && !path.is_symlink());
    folders
        .flat_map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let own = name.starts_with(prefix).then_some(name);
            own.into_iter().chain(cgroups(&path, prefix))
        })
        .collect()
}
