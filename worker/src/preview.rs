//! Previews of office documents that jobs made: rendered in the sandbox after the job, one at a time.
//!
//! If a worker dies, another one renders the document after the lease expires. A document that cannot be rendered is
//! recorded with its reason and not tried again.

mod render;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use shared::asset::SealedUpload;
use shared::db;
use shared::db::preview::{ClaimedPreview, PDF_PAGE, PreviewFile};
use shared::skill::Program;
use tokio::time::sleep;
use worker_sandbox::Sandbox;

use self::render::{PreviewError, PreviewPage, RenderedDocument};
use crate::worker_context::WorkerContext;

/// The interval at which a worker looks for documents.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// The pause after a failure of the database or the asset store.
const RETRY_PAUSE: Duration = Duration::from_secs(10);
/// The time after which the worker of a rendering counts as dead.
const LEASE: Duration = Duration::from_secs(2 * render::TIMEOUT.as_secs());
/// The number of renderings that may be interrupted before the document counts as the cause.
const MAX_ATTEMPTS: i16 = 3;
/// The programs that render.
const PROGRAMS: [&str; 3] = ["soffice", "pdfinfo", "pdftoppm"];

/// Returns the programs that render previews.
pub(crate) fn programs() -> impl Iterator<Item = Program> {
    PROGRAMS
        .into_iter()
        .map(|name| Program::Command(name.to_owned()))
}

/// Whether previews can be rendered: the programs are installed, and a job's files are hidden from other commands.
pub(crate) fn is_possible(sandbox: &Sandbox, installed: &BTreeSet<Program>) -> bool {
    sandbox.max_jobs().is_none() && programs().all(|program| installed.contains(&program))
}

/// Renders waiting documents until it is dropped.
pub(crate) async fn run(context: Arc<WorkerContext>) {
    loop {
        let pause = match step(&context).await {
            Ok(true) => continue,
            Ok(false) => POLL_INTERVAL,
            Err(error) => {
                let error = format!("{error:#}");
                tracing::warn!(error, "a preview could not be made");
                RETRY_PAUSE
            }
        };
        sleep(pause).await;
    }
}

/// Renders a document. Returns whether one was waiting. After an error, the lease expires, and
/// the document is tried again.
async fn step(context: &WorkerContext) -> anyhow::Result<bool> {
    if !context.workspaces.has_room() {
        return Ok(false);
    }
    let mut transaction = context.pool.begin().await?;
    let claimed = db::preview::claim(&mut transaction, LEASE).await?;
    transaction.commit().await?;
    let Some(claimed) = claimed else {
        return Ok(false);
    };
    if claimed.attempt > MAX_ATTEMPTS {
        let reason = format!("rendering did not finish in {MAX_ATTEMPTS} attempts");
        db::preview::fail(&context.pool, &claimed, &reason).await?;
        return Ok(true);
    }
    match render::render(context, &claimed).await {
        Ok(rendered) => store(context, &claimed, rendered).await?,
        Err(PreviewError::Document(reason)) => {
            tracing::info!(asset = %claimed.asset, reason, "a document has no preview");
            db::preview::fail(&context.pool, &claimed, &reason).await?;
        }
        Err(PreviewError::Internal(error)) => return Err(error),
    }
    Ok(true)
}

async fn store(
    context: &WorkerContext,
    claimed: &ClaimedPreview,
    rendered: RenderedDocument,
) -> anyhow::Result<()> {
    let pdf = PreviewPage {
        content: rendered.pdf,
        width: 0,
        height: 0,
    };
    let mut files = Vec::new();
    let mut uploads = Vec::new();
    for (page, rendered) in (PDF_PAGE..).zip([pdf].into_iter().chain(rendered.pages)) {
        let sealed = seal(context, &rendered.content).await?;
        files.push(PreviewFile {
            page,
            size: i64::try_from(sealed.size)?,
            sha256: sealed.sha256.clone(),
            width: i32::try_from(rendered.width)?,
            height: i32::try_from(rendered.height)?,
        });
        uploads.push(sealed);
    }
    let mut transaction = context.pool.begin().await?;
    let is_ours = db::preview::add_files(&mut transaction, claimed, &files).await?;
    transaction.commit().await?;
    if !is_ours {
        return Ok(());
    }
    for sealed in uploads {
        sealed.place().await?;
    }
    Ok(db::preview::finish(&context.pool, claimed, rendered.total_pages).await?)
}

async fn seal(context: &WorkerContext, content: &Bytes) -> anyhow::Result<SealedUpload> {
    let mut upload = context.assets.upload();
    upload.push(content).await?;
    Ok(upload.seal().await?)
}
