//! Images in the results of other tools.

use bytes::Bytes;
use worker_model::image_scaling::{NoPicture, Picture};
use worker_model::{Media, shown_image};

use super::SHEET_EDGE;
use super::sheet::{self, LabelledImage};
use super::strip;

/// Returns an image as the model sees it. A tall image is cut into parts on a contact sheet.
pub(crate) async fn attached(name: &str, content: Bytes) -> Result<Media, NoPicture> {
    let picture = shown_image::work(move || {
        let image = shown_image::decode(content)?;
        sheet::picture(&strip::parts(image))
    });
    Ok(media(name.to_owned(), picture.await?))
}

/// Returns several images on a contact sheet, each with its label. The images are read and scaled down one after the
/// other, because all of them at full size could need gigabytes.
pub(crate) async fn attached_sheet(
    name: &str,
    images: impl Iterator<Item = (String, Bytes)> + Send + 'static,
) -> Result<Media, NoPicture> {
    let picture = shown_image::work(move || {
        let images = images.map(|(label, content)| {
            let image = sheet::shrunk(shown_image::decode(content)?, SHEET_EDGE);
            Ok(LabelledImage { label, image })
        });
        sheet::picture(&images.collect::<Result<Vec<_>, NoPicture>>()?)
    });
    Ok(media(name.to_owned(), picture.await?))
}

/// Returns the image as a part of a result.
pub(super) fn media(name: String, picture: Picture) -> Media {
    Media {
        name,
        content_type: picture.content_type.to_owned(),
        data: picture.data,
        pixels: Some(picture.pixels),
    }
}
