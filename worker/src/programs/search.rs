//! Looking for programs that no skill of the service needs, because a skill does that a tenant has uploaded.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use shared::db;
use shared::id::WorkerId;
use shared::skill::Program;
use tokio::time::sleep;

use super::installed;
use crate::shop::Shop;

/// How long an uploaded skill may have to wait until its programs are looked for.
const INTERVAL: Duration = Duration::from_secs(1);
/// Programs that are looked for at once, and the longest name of one: modules are named in one command.
const AT_ONCE: usize = 200;
const MAX_NAME_BYTES: usize = 100;

/// Looks for what new skills need and says what there is, until it is dropped. `known` is what the worker has said.
pub(crate) async fn search(shop: Arc<Shop>, worker: WorkerId, known: Vec<String>) {
    let mut known = BTreeSet::from_iter(known);
    let mut last = 0;
    loop {
        match db::skill::list_needs(&shop.pool, last).await {
            Ok(Some((newest, needs))) => match look(&shop, worker, &needs, &mut known).await {
                // Where one batch ended, another may begin.
                Ok(()) => last = newest,
                Err(error) => {
                    warn(&error);
                    sleep(INTERVAL).await;
                }
            },
            Ok(None) => sleep(INTERVAL).await,
            Err(error) => {
                warn(&error);
                sleep(INTERVAL).await;
            }
        }
    }
}

async fn look(
    shop: &Shop,
    worker: WorkerId,
    needs: &[String],
    known: &mut BTreeSet<String>,
) -> sqlx::Result<()> {
    let wanted = needs.iter().flat_map(|need| need.split('|'));
    let unknown: BTreeSet<Program> = wanted
        .filter(|name| name.len() <= MAX_NAME_BYTES && !known.contains(*name))
        .filter_map(|name| Program::parse(name).ok())
        .collect();
    let unknown = Vec::from_iter(unknown);
    for some in unknown.chunks(AT_ONCE) {
        let found = installed(some, &shop.sandbox, shop.workspaces.path()).await;
        let found: Vec<_> = found.iter().map(Program::to_string).collect();
        if !found.is_empty() {
            db::worker::add_programs(&shop.pool, worker, &found).await?;
            known.extend(found);
        }
    }
    Ok(())
}

fn warn(error: &sqlx::Error) {
    let error = error as &dyn std::error::Error;
    tracing::warn!(error, "cannot look for programs of uploaded skills");
}
