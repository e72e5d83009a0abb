//! Images of tool results: decoded within limits, and encoded again.

use bytes::Bytes;
use image::{DynamicImage, ImageDecoder, Rgba, RgbaImage, imageops};

use crate::image_scaling::{NoPicture, Picture, decoded, jpeg, open, png, scaling};

/// The longest edge of an image. Providers scale larger images down.
pub const MAX_EDGE: u32 = 1568;

/// The maximum size of an image in bytes. One request may contain many images.
const MAX_BYTES: usize = 512 * 1024;

/// Runs work on images, which takes memory and time, with limited concurrency.
pub async fn work<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, NoPicture> + Send + 'static,
) -> Result<T, NoPicture> {
    scaling(work).await
}

/// Decodes the first picture of a PNG, JPEG, GIF or WebP file, upright and on white. Fails if it needs too much memory.
pub fn decode(data: Bytes) -> Result<DynamicImage, NoPicture> {
    let (mut decoder, _) = open(data)?;
    let orientation = decoder.orientation()?;
    let mut image = decoded(decoder)?;
    image.apply_orientation(orientation);
    if !image.color().has_alpha() {
        return Ok(image);
    }
    let white = Rgba([255; 4]);
    let mut paper = RgbaImage::from_pixel(image.width(), image.height(), white);
    imageops::overlay(&mut paper, &image.to_rgba8(), 0, 0);
    Ok(DynamicImage::from(paper).into_rgb8().into())
}

/// Encodes the image for a model: as PNG, which is exact, unless that is too large.
pub fn encode(image: &DynamicImage) -> Result<Picture, NoPicture> {
    let mut edge = image.width().max(image.height());
    let scaled;
    let mut image = image;
    if edge > MAX_EDGE {
        edge = MAX_EDGE;
        scaled = image.resize(edge, edge, imageops::FilterType::Triangle);
        image = &scaled;
    }
    let mut picture = png(image)?;
    if picture.data.len() > MAX_BYTES {
        picture = jpeg(image)?;
    }
    // Noise stays large at any quality.
    while picture.data.len() > MAX_BYTES {
        edge /= 2;
        picture = jpeg(&image.thumbnail(edge, edge))?;
    }
    Ok(picture)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use image::{GenericImageView, ImageFormat, Rgb, RgbImage};

    use super::*;

    fn file(image: &DynamicImage, format: ImageFormat) -> Bytes {
        let mut data = Cursor::new(Vec::new());
        image.write_to(&mut data, format).unwrap();
        data.into_inner().into()
    }

    #[test]
    fn what_a_model_gets_is_small_and_plain() {
        let plain: DynamicImage = RgbImage::from_pixel(3000, 600, Rgb([9, 9, 9])).into();
        let picture = encode(&plain).unwrap();
        assert_eq!(
            (picture.content_type, picture.pixels.width),
            ("image/png", 1568)
        );
        let mut state = 1_u32;
        let noise = RgbImage::from_fn(1500, 1500, |_, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let [a, b, c, _] = state.to_be_bytes();
            Rgb([a, b, c])
        });
        let picture = encode(&noise.into()).unwrap();
        assert_eq!(picture.content_type, "image/jpeg");
        assert!(picture.data.len() <= MAX_BYTES && picture.pixels.width >= 375);
    }

    #[test]
    fn what_can_be_seen_through_lies_on_white() {
        let glass: DynamicImage = RgbaImage::from_pixel(4, 4, Rgba([0, 0, 0, 0])).into();
        let seen = decode(file(&glass, ImageFormat::Png)).unwrap();
        assert_eq!(seen.get_pixel(1, 1), Rgba([255; 4]));
        assert!(!seen.color().has_alpha());
        let cut = file(&glass, ImageFormat::Png).slice(..40);
        assert!(decode(cut).is_err());
        assert!(decode(Bytes::from_static(b"<svg/>")).is_err());
    }
}
