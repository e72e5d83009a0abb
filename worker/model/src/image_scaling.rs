//! Images in a form that models accept. Images beyond a provider's limits are scaled down.

use std::io::Cursor;

use bytes::Bytes;
use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use tokio::sync::Semaphore;

use crate::PixelSize;

/// The maximum size of an image file. The model gets only the name of a larger file.
pub const MAX_FILE_BYTES: u64 = 24 * 1024 * 1024;

/// The maximum size of an image that is sent unchanged. Anthropic accepts 5 MB of base64.
const MAX_BYTES: usize = 5 * 1024 * 1024 / 4 * 3;

/// The longest edge that Anthropic accepts.
const MAX_EDGE: u32 = 8000;

/// The longest edge that Anthropic accepts of an image among many, and more than providers look at. An image that
/// must be scaled down gets this size.
const SCALED_EDGE: u32 = 2000;

/// The number of images in a request above which they count as many.
const FEW: usize = 20;

/// The maximum memory of one image while it is scaled, enough for about 60 megapixels. An image
/// that needs more is not shown.
const MAX_DECODED_BYTES: u64 = 192 * 1024 * 1024;

/// The quality of a JPEG. A higher quality shows a model no more of a photograph.
const JPEG_QUALITY: u8 = 85;

/// The number of images that this process scales concurrently. The others wait, because each takes much memory.
static SCALING: Semaphore = Semaphore::const_new(2);

/// An image that a model can look at.
#[derive(Debug)]
pub struct Picture {
    /// The media type.
    pub content_type: &'static str,
    /// The encoded image.
    pub data: Bytes,
    /// The size in pixels.
    pub pixels: PixelSize,
}

/// The reason why an image cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum NoPicture {
    /// The data is not an image, or a damaged one.
    #[error("it cannot be read as an image")]
    Unreadable(#[from] image::ImageError),
    /// The format is one that providers do not accept.
    #[error("it is not a PNG, JPEG, GIF or WebP image")]
    OtherFormat,
    /// The image would need too much memory to decode.
    #[error("it has too many pixels")]
    TooManyPixels,
    /// The scaling panicked.
    #[error("scaling it down failed")]
    Failed,
}

/// Returns the image in a form that can be sent among `files` files.
pub async fn fit(data: Bytes, files: usize) -> Result<Picture, NoPicture> {
    let max_edge = if files > FEW { SCALED_EDGE } else { MAX_EDGE };
    scaling(move || within(data, max_edge)).await
}

fn within(data: Bytes, max_edge: u32) -> Result<Picture, NoPicture> {
    let (mut decoder, content_type) = open(data.clone())?;
    let (width, height) = decoder.dimensions();
    if width.max(height) <= max_edge && data.len() <= MAX_BYTES {
        let pixels = PixelSize { width, height };
        return Ok(Picture {
            content_type,
            data,
            pixels,
        });
    }
    let orientation = decoder.orientation()?;
    let image = decoded(decoder)?;
    let mut edge = SCALED_EDGE.min(width.max(height));
    let mut image = image.thumbnail(edge, edge);
    image.apply_orientation(orientation);
    let mut picture = encoded(&image)?;
    // Noise stays large at any quality.
    while picture.data.len() > MAX_BYTES {
        edge /= 2;
        picture = encoded(&image.thumbnail(edge, edge))?;
    }
    Ok(picture)
}

/// Returns the decoder of a file, with the media type. It has read only the header.
pub(crate) fn open(data: Bytes) -> Result<(impl ImageDecoder, &'static str), NoPicture> {
    let reader = ImageReader::new(Cursor::new(data)).with_guessed_format();
    let mut reader = reader.map_err(image::ImageError::from)?;
    let format = reader.format().ok_or(NoPicture::OtherFormat)?;
    let content_type = content_type(format).ok_or(NoPicture::OtherFormat)?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    reader.limits(limits);
    Ok((reader.into_decoder()?, content_type))
}

/// Decodes the image, unless it needs too much memory.
pub(crate) fn decoded(decoder: impl ImageDecoder) -> Result<DynamicImage, NoPicture> {
    // The limits of the reader apply only to its own buffers.
    if decoder.total_bytes() > MAX_DECODED_BYTES {
        return Err(NoPicture::TooManyPixels);
    }
    Ok(DynamicImage::from_decoder(decoder)?)
}

/// Runs work on an image on a thread that may block, with limited concurrency.
pub(crate) async fn scaling<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, NoPicture> + Send + 'static,
) -> Result<T, NoPicture> {
    let permit = SCALING.acquire().await;
    let working = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    working.await.map_err(|_| NoPicture::Failed)?
}

/// Encodes an image as PNG if it has transparency and the PNG is not too large, or else as JPEG.
fn encoded(image: &DynamicImage) -> Result<Picture, NoPicture> {
    if image.color().has_alpha() {
        let picture = png(image)?;
        if picture.data.len() <= MAX_BYTES {
            return Ok(picture);
        }
    }
    jpeg(image)
}

pub(crate) fn png(image: &DynamicImage) -> Result<Picture, NoPicture> {
    let mut data = Cursor::new(Vec::new());
    image.write_to(&mut data, ImageFormat::Png)?;
    Ok(Picture {
        content_type: "image/png",
        data: data.into_inner().into(),
        pixels: size_of(image),
    })
}

pub(crate) fn jpeg(image: &DynamicImage) -> Result<Picture, NoPicture> {
    let mut data = Vec::new();
    let encoder = JpegEncoder::new_with_quality(&mut data, JPEG_QUALITY);
    image.to_rgb8().write_with_encoder(encoder)?;
    Ok(Picture {
        content_type: "image/jpeg",
        data: data.into(),
        pixels: size_of(image),
    })
}

fn size_of(image: &DynamicImage) -> PixelSize {
    PixelSize {
        width: image.width(),
        height: image.height(),
    }
}

/// Returns the media type, if providers accept the format.
fn content_type(format: ImageFormat) -> Option<&'static str> {
    matches!(
        format,
        ImageFormat::Png | ImageFormat::Jpeg | ImageFormat::Gif | ImageFormat::WebP
    )
    .then(|| format.to_mime_type())
}

#[cfg(test)]
mod tests {
    use image::{GenericImageView, Rgb, RgbImage, Rgba, RgbaImage};

    use super::*;

    fn file(image: &DynamicImage, format: ImageFormat) -> Bytes {
        let mut data = Cursor::new(Vec::new());
        image.write_to(&mut data, format).unwrap();
        data.into_inner().into()
    }

    fn plain(width: u32, height: u32) -> DynamicImage {
        RgbImage::from_pixel(width, height, Rgb([9, 99, 199])).into()
    }

    /// Returns an image that no format makes small.
    fn noise(width: u32, height: u32) -> DynamicImage {
        let mut state = 1_u32;
        let image = RgbImage::from_fn(width, height, |_, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let [a, b, c, _] = state.to_be_bytes();
            Rgb([a, b, c])
        });
        image.into()
    }

    fn size(picture: &Picture) -> (u32, u32) {
        let image = image::load_from_memory(&picture.data).unwrap();
        assert_eq!(
            image::guess_format(&picture.data).unwrap().to_mime_type(),
            picture.content_type
        );
        image.dimensions()
    }

    #[tokio::test]
    async fn what_every_provider_takes_stays_as_it_is() {
        for format in [
            ImageFormat::Png,
            ImageFormat::Jpeg,
            ImageFormat::Gif,
            ImageFormat::WebP,
        ] {
            let data = file(&plain(30, 20), format);
            let picture = fit(data.clone(), 1).await.unwrap();
            assert_eq!(picture.data, data);
            assert_eq!(picture.content_type, format.to_mime_type());
        }
    }

    #[tokio::test]
    async fn an_edge_that_is_too_long_is_cut_down_to_size() {
        let long = file(&plain(8001, 40), ImageFormat::Png);
        assert_eq!(size(&fit(long, 1).await.unwrap()), (2000, 10));
        let longish = file(&plain(40, 2001), ImageFormat::Jpeg);
        assert_eq!(size(&fit(longish.clone(), 20).await.unwrap()), (40, 2001));
        assert_eq!(size(&fit(longish, 21).await.unwrap()), (40, 2000));
    }

    #[tokio::test]
    async fn a_file_that_is_too_large_becomes_a_smaller_one() {
        let large = file(&noise(1300, 1100), ImageFormat::Png);
        assert!(large.len() > MAX_BYTES);
        let picture = fit(large, 1).await.unwrap();
        assert_eq!(size(&picture), (1300, 1100));
        assert!(picture.data.len() <= MAX_BYTES);
    }

    #[tokio::test]
    async fn what_can_be_seen_through_stays_so() {
        let glass: DynamicImage = RgbaImage::from_pixel(9000, 9, Rgba([1, 2, 3, 4])).into();
        let picture = fit(file(&glass, ImageFormat::Png), 1).await.unwrap();
        assert_eq!(
            (picture.content_type, size(&picture)),
            ("image/png", (2000, 2))
        );
    }

    #[tokio::test]
    async fn what_is_no_image_or_takes_too_much_memory_is_not_shown() {
        let no_image = fit(Bytes::from_static(b"hello"), 1).await.unwrap_err();
        assert!(matches!(no_image, NoPicture::OtherFormat));
        let cut = file(&noise(8100, 9), ImageFormat::Png).slice(..5000);
        assert!(matches!(fit(cut, 1).await, Err(NoPicture::Unreadable(_))));
        // A small file of 10,000 × 10,000 pixels.
        let mut bomb = file(&plain(1, 1), ImageFormat::Png).to_vec();
        bomb[16..24].copy_from_slice(&[0, 0, 0x27, 0x10, 0, 0, 0x27, 0x10]);
        let header = crc32(&bomb[12..29]).to_be_bytes();
        bomb[29..33].copy_from_slice(&header);
        let bomb = fit(bomb.into(), 1).await;
        assert!(matches!(bomb, Err(NoPicture::TooManyPixels)), "{bomb:?}");
    }

    /// Returns the checksum of PNG.
    fn crc32(data: &[u8]) -> u32 {
        let step = |crc: u32, _| {
            if crc & 1 == 1 {
                crc >> 1 ^ 0xedb8_8320
            } else {
                crc >> 1
            }
        };
        let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), step);
        !data.iter().fold(!0, byte)
    }
}
