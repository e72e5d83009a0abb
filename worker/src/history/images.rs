//! Images of tool results, read back for a later attempt.

use std::collections::HashMap;

use bytes::Bytes;
use futures_util::TryStreamExt;
use shared::asset::{StoreError, WorkspaceStore};
use shared::event::{EventData, ShownImage};
use worker_model::{Media, PixelSize};

use super::History;

impl History {
    /// Reads the images that the model still sees. A deleted image is left out, because the model can open it again.
    pub(crate) async fn load_images(&mut self, store: &WorkspaceStore) -> anyhow::Result<()> {
        for sha256 in self.shown() {
            match read(store, &sha256).await {
                Ok(content) => {
                    self.images.insert(sha256, content);
                }
                Err(error) if error.is_not_found() => {
                    tracing::warn!(sha256, "an image of a tool result no longer exists");
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Returns the hashes of the images that are neither dropped nor replaced by a summary.
    fn shown(&self) -> Vec<String> {
        let mut shown = Vec::new();
        let first = self.restart.as_ref().map_or(0, |(at, _)| *at);
        for event in &self.events[first..] {
            match event {
                EventData::ToolCompleted(completed) => {
                    shown.extend(completed.images.iter().map(|image| image.sha256.clone()));
                }
                EventData::ImagesDropped(dropped) => {
                    let kept = (dropped.kept as usize).min(shown.len());
                    shown.drain(..shown.len() - kept);
                }
                _ => {}
            }
        }
        shown
    }
}

async fn read(store: &WorkspaceStore, sha256: &str) -> Result<Bytes, StoreError> {
    let chunks = store.read(sha256).await?;
    let content: Vec<u8> = chunks.map_ok(Vec::from).try_concat().await?;
    Ok(content.into())
}

/// Returns the images of a result that could be read.
pub(super) fn seen(images: &[ShownImage], read: &HashMap<String, Bytes>) -> Vec<Media> {
    let images = images.iter().filter_map(|image| {
        Some(Media {
            name: image.name.clone(),
            content_type: image.content_type.clone(),
            data: read.get(&image.sha256)?.clone(),
            pixels: Some(PixelSize {
                width: image.width,
                height: image.height,
            }),
        })
    });
    images.collect()
}
