//! Images of results: kept in the job's store, shown to the model, named in the log.

use shared::asset::StoreError;
use shared::event::ShownImage;
use worker_model::Media;
use worker_tool::Done;

use super::ToolRunner;

const NO_IMAGES: &str = "[This model does not support images. Use the measured values.]";
const NOT_KEPT: &str = "[An image could not be stored and is not shown. Look again.]";

impl ToolRunner<'_> {
    /// Stores the images of a result, so that a later attempt can show them again. Returns them in the form of the
    /// log. Images that cannot be shown are removed from the result, and its text says so.
    pub(super) async fn keep_images(&self, done: &mut Done) -> Vec<ShownImage> {
        if done.is_error {
            done.images.clear();
        }
        if done.images.is_empty() {
            return Vec::new();
        }
        if !self.context.model.takes_images() {
            return withdraw(done, NO_IMAGES);
        }
        let mut shown = Vec::new();
        for image in &done.images {
            match self.keep(image).await {
                Ok(kept) => shown.push(kept),
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(job = %self.context.job, error, "an image could not be stored");
                    return withdraw(done, NOT_KEPT);
                }
            }
        }
        shown
    }

    async fn keep(&self, image: &Media) -> Result<ShownImage, StoreError> {
        let mut upload = self.context.assets.upload();
        upload.push(&image.data).await?;
        let sealed = upload.seal().await?;
        let pixels = image.pixels;
        let shown = ShownImage {
            name: image.name.clone(),
            content_type: image.content_type.clone(),
            sha256: sealed.sha256.clone(),
            size: sealed.size,
            width: pixels.map_or(0, |pixels| pixels.width),
            height: pixels.map_or(0, |pixels| pixels.height),
        };
        let store = self.context.assets.workspace_store(self.context.job);
        store.put(sealed).await?;
        Ok(shown)
    }
}

fn withdraw(done: &mut Done, why: &str) -> Vec<ShownImage> {
    done.images.clear();
    done.text = format!("{}\n{why}", done.text);
    Vec::new()
}
