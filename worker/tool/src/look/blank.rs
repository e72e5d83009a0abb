//! The blank part of a picture, and the position of its content.

use std::collections::HashMap;
use std::fmt;

use image::{DynamicImage, Rgb, RgbImage};

/// The number of squares along the longer edge in which a picture is measured.
const SQUARES: u32 = 128;
/// The maximum difference from the background at which a square counts as blank.
const TOLERANCE: u8 = 8;

/// The blank and filled parts of a picture, in percent of its size.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Filling {
    blank: u32,
    /// The left, right, top and bottom edges of the content, or `None` if everything is blank.
    content: Option<[u32; 4]>,
}

impl Filling {
    /// Measures a picture. The background is the most frequent colour of its edges.
    pub(super) fn of(image: &DynamicImage) -> Self {
        let squares = image.thumbnail(SQUARES, SQUARES).into_rgb8();
        let background = background(&squares);
        let (width, height) = squares.dimensions();
        let mut filled = 0;
        let mut content: Option<[u32; 4]> = None;
        for (x, y, colour) in squares.enumerate_pixels() {
            if is_near(*colour, background) {
                continue;
            }
            filled += 1;
            let [left, right, top, bottom] = content.unwrap_or([x, x, y, y]);
            content = Some([left.min(x), right.max(x), top.min(y), bottom.max(y)]);
        }
        let percent = |part: u32, whole: u32| (part * 100 + whole / 2) / whole;
        Self {
            blank: 100 - percent(filled, width * height),
            content: content.map(|[left, right, top, bottom]| {
                [
                    percent(left, width),
                    percent(right + 1, width),
                    percent(top, height),
                    percent(bottom + 1, height),
                ]
            }),
        }
    }
}

impl fmt::Display for Filling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.content {
            None => write!(f, "all of it is blank"),
            Some([left, right, top, bottom]) => write!(
                f,
                "{} % blank; content from {left} to {right} % of the width and {top} to {bottom} % of the height",
                self.blank
            ),
        }
    }
}

fn background(squares: &RgbImage) -> Rgb<u8> {
    let (width, height) = squares.dimensions();
    let mut counts: HashMap<Rgb<u8>, u32> = HashMap::new();
    for (x, y, colour) in squares.enumerate_pixels() {
        if x == 0 || y == 0 || x + 1 == width || y + 1 == height {
            *counts.entry(*colour).or_default() += 1;
        }
    }
    let most = counts
        .into_iter()
        .max_by_key(|(colour, count)| (*count, colour.0));
    most.map_or(Rgb([255; 3]), |(colour, _)| colour)
}

fn is_near(one: Rgb<u8>, other: Rgb<u8>) -> bool {
    let channels = one.0.iter().zip(other.0);
    channels
        .into_iter()
        .all(|(one, other)| one.abs_diff(other) <= TOLERANCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_which_the_left_half_is_filled_is_half_blank() {
        let dark = Rgb([10, 20, 30]);
        let page = RgbImage::from_fn(640, 480, |x, _| match x {
            0..20 => dark,
            20..320 => Rgb([250; 3]),
            _ => dark,
        });
        let filling = Filling::of(&page.into());
        assert_eq!(
            filling.to_string(),
            "53 % blank; content from 3 to 50 % of the width and 0 to 100 % of the height"
        );
        let empty = RgbImage::from_pixel(10, 3000, dark);
        assert_eq!(Filling::of(&empty.into()).to_string(), "all of it is blank");
    }
}
