//! Tall images, such as screenshots of whole pages. They are cut into parts, because they would be too
//! small to read in one piece.

use image::DynamicImage;
use worker_model::shown_image::MAX_EDGE;

use super::sheet::LabelledImage;

/// The ratio of height to width from which an image is cut.
const TALL: u32 = 3;
/// The maximum number of parts. The rest of the image is left out.
const MAX_PARTS: u32 = 12;

/// Returns the parts of a tall image, from top to bottom. Any other image is the only part.
pub(super) fn parts(image: DynamicImage) -> Vec<LabelledImage> {
    let (width, height) = (image.width(), image.height());
    let (label, mut parts) = ("1".to_owned(), Vec::new());
    if height <= MAX_EDGE || height < TALL.saturating_mul(width) {
        return vec![LabelledImage { label, image }];
    }
    for (number, top) in (1..=MAX_PARTS).zip((0..height).step_by(width as usize)) {
        parts.push(LabelledImage {
            label: number.to_string(),
            image: image.crop_imm(0, top, width, width.min(height - top)),
        });
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(width: u32, height: u32) -> Vec<(u32, u32)> {
        let parts = parts(DynamicImage::new_rgb8(width, height));
        let sizes = parts
            .iter()
            .map(|part| (part.image.width(), part.image.height()));
        sizes.collect()
    }

    #[test]
    fn a_long_page_is_cut_and_a_poster_is_not() {
        assert_eq!(sizes(1000, 2900), [(1000, 2900)]);
        assert_eq!(sizes(30, 900), [(30, 900)]);
        assert_eq!(
            sizes(1000, 3100),
            [(1000, 1000), (1000, 1000), (1000, 1000), (1000, 100)]
        );
        assert_eq!(sizes(2, 4000).len(), 12);
    }
}
