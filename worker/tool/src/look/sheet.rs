//! A contact sheet: several pages or frames in one image, each with its number.

use image::{DynamicImage, Rgb, RgbImage, imageops};
use worker_model::image_scaling::{NoPicture, Picture};
use worker_model::shown_image::{self, MAX_EDGE};

/// The space around each picture.
const GAP: u32 = 12;
/// The width of a stroke of a digit. A digit is 3 × 5 strokes in size.
const LINE: u32 = 4;
/// The height of a label with the space around it.
const LABEL: u32 = 5 * LINE + GAP;

const PAPER: Rgb<u8> = Rgb([208, 208, 208]);
const INK: Rgb<u8> = Rgb([32, 32, 32]);

/// A picture on a sheet.
pub(super) struct LabelledImage {
    /// The number of the page, or the time of the frame. Characters other than digits, `:` and `.` are left out.
    pub(super) label: String,
    pub(super) image: DynamicImage,
}

/// The arrangement of a sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Grid {
    columns: u32,
    rows: u32,
    cell_width: u32,
    cell_height: u32,
}

/// Encodes one picture alone, or several on a sheet, for a model.
pub(super) fn picture(images: &[LabelledImage]) -> Result<Picture, NoPicture> {
    match images {
        [only] => shown_image::encode(&only.image),
        several => shown_image::encode(&compose(several)),
    }
}

/// Returns a picture whose longer edge has at most `max_edge` pixels.
pub(super) fn shrunk(image: DynamicImage, max_edge: u32) -> DynamicImage {
    if image.width().max(image.height()) <= max_edge {
        return image;
    }
    image.resize(max_edge, max_edge, imageops::FilterType::Triangle)
}

/// Arranges pictures in rows on a sheet, as large as possible.
fn compose(images: &[LabelledImage]) -> DynamicImage {
    let width = images.iter().map(|it| it.image.width()).max().unwrap_or(1);
    let height = images.iter().map(|it| it.image.height()).max().unwrap_or(1);
    let count = u32::try_from(images.len()).unwrap_or(u32::MAX);
    let grid = Grid::of(count, width, height);
    let mut sheet = RgbImage::from_pixel(
        grid.columns * (grid.cell_width + GAP) + GAP,
        grid.rows * (grid.cell_height + LABEL + GAP) + GAP,
        PAPER,
    );
    for (number, LabelledImage { label, image }) in (0..).zip(images) {
        let x = GAP + number % grid.columns * (grid.cell_width + GAP);
        let y = GAP + number / grid.columns * (grid.cell_height + LABEL + GAP);
        write(&mut sheet, label, x, y);
        let filter = imageops::FilterType::Triangle;
        let scaled = image.resize(grid.cell_width, grid.cell_height, filter);
        imageops::overlay(&mut sheet, &scaled.to_rgb8(), x.into(), (y + LABEL).into());
    }
    sheet.into()
}

impl Grid {
    /// Returns the grid in which `count` pictures of this size are the largest.
    fn of(count: u32, width: u32, height: u32) -> Self {
        let count = count.clamp(1, 100);
        let grids = (1..=count).map(|columns| {
            let rows = count.div_ceil(columns);
            let room_width = ((MAX_EDGE - GAP) / columns).saturating_sub(GAP).max(1);
            let room_height = (MAX_EDGE - GAP) / rows;
            let room_height = room_height.saturating_sub(LABEL + GAP).max(1);
            let scale = f64::from(room_width) / f64::from(width);
            let scale = scale.min(f64::from(room_height) / f64::from(height));
            let scaled = |edge: u32| ((f64::from(edge) * scale) as u32).max(1);
            Self {
                columns,
                rows,
                cell_width: scaled(width),
                cell_height: scaled(height),
            }
        });
        let best = grids.max_by_key(|grid| (grid.cell_width, std::cmp::Reverse(grid.rows)));
        best.expect("there is one column at least")
    }
}

/// Writes a label. This needs no font, because some machines have none and labels use few characters.
fn write(sheet: &mut RgbImage, label: &str, x: u32, y: u32) {
    let shapes = label.chars().filter_map(shape);
    for (number, rows) in (0..).zip(shapes) {
        let left = x + number * 4 * LINE;
        for (row, bits) in (0..).zip(rows) {
            for column in (0..3).filter(|column| bits >> (2 - column) & 1 == 1) {
                fill(sheet, left + column * LINE, y + row * LINE);
            }
        }
    }
}

fn fill(sheet: &mut RgbImage, x: u32, y: u32) {
    for (x, y) in (x..x + LINE).flat_map(|x| (y..y + LINE).map(move |y| (x, y))) {
        if let Some(pixel) = sheet.get_pixel_mut_checked(x, y) {
            *pixel = INK;
        }
    }
}

/// Returns the rows of a character, three bits each.
fn shape(char: char) -> Option<[u8; 5]> {
    Some(match char {
        '0' => [0b111, 0b101, 0b101, 0b101, 0b111],
        '1' => [0b010, 0b110, 0b010, 0b010, 0b111],
        '2' => [0b111, 0b001, 0b111, 0b100, 0b111],
        '3' => [0b111, 0b001, 0b111, 0b001, 0b111],
        '4' => [0b101, 0b101, 0b111, 0b001, 0b001],
        '5' => [0b111, 0b100, 0b111, 0b001, 0b111],
        '6' => [0b111, 0b100, 0b111, 0b101, 0b111],
        '7' => [0b111, 0b001, 0b001, 0b001, 0b001],
        '8' => [0b111, 0b101, 0b111, 0b101, 0b111],
        '9' => [0b111, 0b101, 0b111, 0b001, 0b111],
        ':' => [0b000, 0b010, 0b000, 0b010, 0b000],
        '.' => [0b000, 0b000, 0b000, 0b000, 0b010],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(count: usize, width: u32, height: u32) -> Vec<LabelledImage> {
        let page = |number: usize| LabelledImage {
            label: number.to_string(),
            image: RgbImage::from_pixel(width, height, Rgb([255; 3])).into(),
        };
        (1..=count).map(page).collect()
    }

    #[test]
    fn pages_are_as_large_as_they_fit() {
        for (count, width, height, columns) in [
            (2, 600, 800, 2),
            (2, 1600, 900, 1),
            (6, 1600, 900, 2),
            (12, 600, 800, 4),
            (30, 1, 20_000, 30),
        ] {
            let grid = Grid::of(count, width, height);
            assert_eq!(grid.columns, columns, "{count} of {width} × {height}");
            let sheet = compose(&pages(count as usize, width, height));
            assert!(
                sheet.width() <= MAX_EDGE && sheet.height() <= MAX_EDGE,
                "{grid:?}"
            );
        }
    }

    #[test]
    fn each_page_has_its_number() {
        let sheet = compose(&pages(2, 100, 100)).to_rgb8();
        let ink = |from: u32, to: u32| {
            let pixels = sheet.enumerate_pixels();
            pixels
                .filter(|(x, _, pixel)| (from..to).contains(x) && **pixel == INK)
                .count()
        };
        let half = sheet.width() / 2;
        // A 1 has 8 squares of ink, and a 2 has 11.
        assert_eq!(ink(0, half), 8 * 16);
        assert_eq!(ink(half, sheet.width()), 11 * 16);
    }
}
