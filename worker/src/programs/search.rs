//! The search for programs while the worker runs: programs that only uploaded skills need, and the
//! versions of all programs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use shared::db;
use shared::id::WorkerId;
use shared::skill::Program;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{try_installed, versions};
use crate::worker_context::WorkerContext;

/// The interval at which the worker searches for programs of uploaded skills.
const INTERVAL: Duration = Duration::from_secs(1);
/// The pause after a failed search.
const RETRY_PAUSE: Duration = Duration::from_secs(10);
/// The maximum number of programs per search, and the maximum length of a name. One command names all modules.
const AT_ONCE: usize = 100;
const MAX_NAME_BYTES: usize = 100;
/// The pause before a new worker asks programs for their versions, so that its first jobs are not delayed.
const START_PAUSE: Duration = Duration::from_secs(15);

/// Searches for programs that new skills need, and reports installed programs and their versions, until it is
/// dropped. `known` contains the programs that the worker has reported.
pub(crate) async fn search(context: Arc<WorkerContext>, worker: WorkerId, known: Vec<String>) {
    let mut asking = JoinSet::new();
    let first = known.iter().filter_map(|name| Program::parse(name).ok());
    let first = first.collect();
    asking.spawn({
        let context = context.clone();
        async move {
            sleep(START_PAUSE).await;
            tell_versions(context, worker, first).await;
        }
    });
    let mut known = BTreeSet::from_iter(known);
    let mut last = 0;
    loop {
        while asking.try_join_next().is_some() {}
        match db::skill::list_needs(&context.pool, last).await {
            Ok(Some((newest, needs))) => match look(&context, worker, &needs, &mut known).await {
                // The next batch may start where this one ended.
                Ok(found) => {
                    last = newest;
                    if !found.is_empty() {
                        asking.spawn(tell_versions(context.clone(), worker, found));
                    }
                }
                Err(error) => {
                    warn(&error);
                    sleep(RETRY_PAUSE).await;
                }
            },
            Ok(None) => sleep(INTERVAL).await,
            Err(error) => {
                warn(&error.into());
                sleep(INTERVAL).await;
            }
        }
    }
}

async fn look(
    context: &WorkerContext,
    worker: WorkerId,
    needs: &[String],
    known: &mut BTreeSet<String>,
) -> anyhow::Result<BTreeSet<Program>> {
    let needs = needs.iter().map(|need| need.trim_end_matches('?'));
    let wanted = needs.flat_map(|need| need.split('|'));
    let unknown: BTreeSet<Program> = wanted
        .filter(|name| name.len() <= MAX_NAME_BYTES && !known.contains(*name))
        .filter_map(|name| Program::parse(name).ok())
        .collect();
    let unknown = Vec::from_iter(&unknown);
    let mut all = BTreeSet::new();
    for some in unknown.chunks(AT_ONCE) {
        let found = try_installed(some, &context.sandbox, context.workspaces.path()).await?;
        let names: Vec<_> = found.iter().map(Program::to_string).collect();
        if !names.is_empty() {
            db::worker::add_programs(&context.pool, worker, &names).await?;
            known.extend(names);
        }
        all.extend(found);
    }
    Ok(all)
}

async fn tell_versions(context: Arc<WorkerContext>, worker: WorkerId, programs: BTreeSet<Program>) {
    let found = versions(&programs, &context.sandbox, context.workspaces.path()).await;
    let found: BTreeMap<_, _> = found
        .into_iter()
        .map(|(program, version)| (program.to_string(), version))
        .collect();
    if let Err(error) = db::worker::add_versions(&context.pool, worker, &found).await {
        warn(&error.into());
    }
}

fn warn(error: &anyhow::Error) {
    tracing::warn!(error = format!("{error:#}"), "cannot look for programs");
}
