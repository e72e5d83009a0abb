//! Staging of a job's inputs in its workspace.

mod kept;

use std::collections::HashSet;
use std::io::Write;

use bytes::{Bytes, BytesMut};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use shared::asset::{HEAD_BYTES, Upload, content_type_of, file_name};
use shared::id::AssetId;
use shared::job::{Input, JobError, JobErrorCode};

use crate::attachment::{self, Attachment, AttachmentSelection};
use crate::attempt_error::AttemptError;
use crate::worker_context::WorkerContext;
use kept::KeptInputs;
use shared::db::claim::Claimed;
use worker_egress::net::{self, FetchError};
use worker_workspace::Workspace;

/// An input in the workspace.
pub(crate) struct StagedInput {
    /// The name of the file in the workspace.
    pub(crate) name: String,
    pub(crate) content_type: String,
    /// The size in bytes.
    pub(crate) size: u64,
    /// The form of the input in the prompt.
    pub(crate) attachment: Attachment,
}

type Chunks = BoxStream<'static, anyhow::Result<Bytes>>;

/// Writes each input once, under a unique name other than `reserved`.
pub(crate) async fn stage(
    context: &WorkerContext,
    claimed: &Claimed,
    workspace: &Workspace,
    reserved: Option<&str>,
) -> Result<Vec<StagedInput>, AttemptError> {
    let mut taken: HashSet<_> = reserved.into_iter().map(str::to_owned).collect();
    let mut staged = Vec::new();
    let mut selection = AttachmentSelection::of(claimed.request.inputs.len());
    let job = &claimed.job;
    let kept = KeptInputs::open(&context.assets, job.id, job.attempt).await;
    let mut kept = kept.map_err(AttemptError::Internal)?;
    for (place, input) in claimed.request.inputs.iter().enumerate() {
        let mut copy = None;
        let (claimed_name, chunks) = match input {
            Input::Asset { id } => open_asset(context, claimed, *id).await?,
            Input::Url { url, name } => {
                match kept.get(place).await.map_err(AttemptError::Internal)? {
                    Some(kept) => kept,
                    None => {
                        copy = Some(kept.copy());
                        open_url(context, url, name.as_deref()).await?
                    }
                }
            }
        };
        let name = unique(&file_name(&claimed_name), &mut taken);
        staged.push(write(workspace, name, chunks, &mut selection, copy.as_mut()).await?);
        if let Some(copy) = copy {
            let keeping = kept.keep(place, claimed_name, copy);
            keeping.await.map_err(AttemptError::Internal)?;
        }
    }
    kept.close().await.map_err(AttemptError::Internal)?;
    Ok(staged)
}

async fn open_asset(
    context: &WorkerContext,
    claimed: &Claimed,
    id: AssetId,
) -> Result<(String, Chunks), AttemptError> {
    let asset = shared::db::asset::get(&context.pool, claimed.tenant, id)
        .await
        .map_err(AttemptError::internal)?;
    let asset = asset
        .ok_or_else(|| unavailable(format!("asset {id} was deleted before the job could start")))?;
    let chunks = context
        .assets
        .read(&asset.sha256, None)
        .await
        .map_err(AttemptError::internal)?;
    Ok((asset.name, chunks.map_err(anyhow::Error::from).boxed()))
}

async fn open_url(
    context: &WorkerContext,
    url: &str,
    name: Option<&str>,
) -> Result<(String, Chunks), AttemptError> {
    let fetched = net::get(&context.fetch, url)
        .await
        .map_err(|error| not_fetched(url, &error))?;
    let name = name.map_or(fetched.name, str::to_owned);
    let owned_url = url.to_owned();
    let chunks = fetched
        .chunks
        .map_err(move |error| not_fetched(&owned_url, &error).into());
    Ok((name, chunks.boxed()))
}

fn not_fetched(url: &str, error: &FetchError) -> JobError {
    JobErrorCode::InputUnavailable.with(format!("the input {url} could not be fetched: {error}"))
}

fn unavailable(message: String) -> JobError {
    JobErrorCode::InputUnavailable.with(message)
}

async fn write(
    workspace: &Workspace,
    name: String,
    mut chunks: Chunks,
    selection: &mut AttachmentSelection,
    mut copy: Option<&mut Upload>,
) -> Result<StagedInput, AttemptError> {
    let mut file = workspace
        .create_file(&name, 0o644)
        .map_err(AttemptError::internal)?;
    let mut size = 0;
    // The first bytes determine the type. All bytes are kept while the file may be inline.
    let mut kept = BytesMut::new();
    let mut keep_all = true;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(AttemptError::from_input)?;
        file.write_all(&chunk).map_err(AttemptError::internal)?;
        size += chunk.len() as u64;
        if let Some(copy) = &mut copy {
            copy.push(&chunk).await.map_err(AttemptError::internal)?;
        }
        if keep_all {
            kept.extend_from_slice(&chunk);
            keep_all = kept.len() < HEAD_BYTES
                || attachment::may_be_inline(&content_type_of(&name, &kept), size);
        }
    }
    let content_type = content_type_of(&name, &kept);
    let content = keep_all.then(|| kept.freeze());
    let attachment = selection.add(&name, &content_type, content).await;
    Ok(StagedInput {
        name,
        content_type,
        size,
        attachment,
    })
}

/// Returns the first free name of `a.csv`, `a-2.csv`, `a-3.csv`, …
fn unique(name: &str, taken: &mut HashSet<String>) -> String {
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => (stem, format!(".{extension}")),
        _ => (name, String::new()),
    };
    let numbered = (2..).map(|number| format!("{stem}-{number}{extension}"));
    let free = std::iter::once(name.to_owned())
        .chain(numbered)
        .find(|name| taken.insert(name.to_lowercase()));
    free.expect("numbers do not end")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_name_twice_becomes_two_names() {
        let mut taken = HashSet::new();
        let names =
            ["a.csv", "A.csv", "a.csv", ".env", ".env", "b"].map(|name| unique(name, &mut taken));
        assert_eq!(
            names,
            ["a.csv", "A-2.csv", "a-3.csv", ".env", ".env-2", "b"]
        );
    }
}
