//! The tokens of an image, calculated from its pixels. Each provider counts differently.

use worker_model::PixelSize;

/// The maximum number of tokens of an image of unknown size with any provider, where the image fills all tiles.
const MAX_TOKENS: u64 = 50_000;
/// The tokens that OpenAI's smaller models count for an image and for each of its tiles. No provider counts more.
const IMAGE_TOKENS: u64 = 2_833;
const TILE_TOKENS: u64 = 5_667;
/// OpenAI scales an image into a square of this edge, then its shorter edge down to the second, and cuts it into
/// square tiles.
const LONG_EDGE: u64 = 2_048;
const SHORT_EDGE: u64 = 768;
const TILE_EDGE: u64 = 512;
/// The number of pixels per token for Anthropic. Most other providers count about as many tokens, or fewer.
const PIXELS_OF_A_TOKEN: u64 = 750;
/// The assumed number of tokens of a file of unknown size.
const TYPICAL_TOKENS: u64 = 2_000;

/// Returns the maximum number of tokens of an image with any provider.
pub(crate) fn upper_bound(pixels: Option<PixelSize>) -> u64 {
    let Some(PixelSize { width, height }) = pixels else {
        return MAX_TOKENS;
    };
    let (mut long, mut short) = (u64::from(width.max(height)), u64::from(width.min(height)));
    if long > LONG_EDGE {
        short = (short * LONG_EDGE).div_ceil(long);
        long = LONG_EDGE;
    }
    if short > SHORT_EDGE {
        long = (long * SHORT_EDGE).div_ceil(short);
        short = SHORT_EDGE;
    }
    let tiles = long.div_ceil(TILE_EDGE).max(1) * short.div_ceil(TILE_EDGE).max(1);
    IMAGE_TOKENS + TILE_TOKENS * tiles
}

/// Returns the approximate number of tokens of an image or of another file.
pub(crate) fn approximate(pixels: Option<PixelSize>) -> u64 {
    pixels.map_or(TYPICAL_TOKENS, |PixelSize { width, height }| {
        (u64::from(width) * u64::from(height)).div_ceil(PIXELS_OF_A_TOKEN)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixels(width: u32, height: u32) -> Option<PixelSize> {
        Some(PixelSize { width, height })
    }

    #[test]
    fn no_image_takes_more_than_one_of_unknown_size_and_a_small_one_takes_less() {
        assert_eq!(upper_bound(pixels(512, 512)), 2_833 + 5_667);
        // Scaled to 1024 × 768.
        assert_eq!(upper_bound(pixels(1568, 1176)), 2_833 + 4 * 5_667);
        for (width, height) in [
            (1, 1),
            (8_000, 8_000),
            (8_000, 3_000),
            (2_048, 768),
            (9, 8_000),
        ] {
            let bound = upper_bound(pixels(width, height));
            assert!(bound <= MAX_TOKENS, "{width} × {height}: {bound}");
            assert!(
                bound >= IMAGE_TOKENS + TILE_TOKENS,
                "{width} × {height}: {bound}"
            );
        }
    }

    #[test]
    fn a_page_takes_about_what_its_pixels_make() {
        assert_eq!(approximate(pixels(1568, 1109)), 2_319);
        assert_eq!(approximate(None), TYPICAL_TOKENS);
        assert!(approximate(pixels(1568, 1568)) < upper_bound(pixels(1568, 1568)));
    }
}
