//! A plot of figures: a row per figure, with a bar from the target to the value. The bar points to the right if the
//! value is better than the target.
//!
//! The axis is logarithmic, because people compare ratios: twice as good is as far from the target as half as good.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, ensure};

use crate::figure::{Figure, rounded};

const WIDTH: f64 = 1160.0;
/// Horizontal positions: the end of the names, the range of the bars, and the start of the values.
const NAMES: f64 = 450.0;
const BARS: (f64, f64) = (470.0, 930.0);
const VALUES: f64 = 945.0;
const HEAD: f64 = 92.0;
const ROW: f64 = 27.0;
/// The maximum number of labels on the axis.
const MAX_LABELS: i32 = 8;
const BAR: f64 = 13.0;

const INK: &str = "#1f2430";
const FAINT: &str = "#8a92a3";
const GRID: &str = "#e3e6ec";
const MET: &str = "#3a9d6e";
const MISSED: &str = "#d0524a";
/// The colours of other systems, in the order of their names.
const PEERS: [&str; 6] = [
    "#7b61c4", "#d98a1f", "#2f7fc1", "#b8478f", "#6b7a1e", "#5a5f6b",
];

/// Draws the figures that have a target, with those of other systems for comparison.
pub(crate) fn draw(figures: Vec<Figure>, output: &Path) -> anyhow::Result<()> {
    let (peers, ours): (Vec<_>, Vec<_>) = figures.into_iter().partition(|it| it.of.is_some());
    let rows: Vec<_> = ours.into_iter().filter(|it| it.target.is_some()).collect();
    ensure!(!rows.is_empty(), "none of the figures has a target");
    let chart = Chart::of(&rows, &peers);
    std::fs::write(output, chart.to_svg())
        .with_context(|| format!("cannot write {}", output.display()))
}

struct Chart<'a> {
    rows: Vec<Row<'a>>,
    systems: Vec<&'a str>,
    /// The powers of two at the ends of the axis.
    axis: (i32, i32),
}

/// A figure with its merit, and the merits of its limit and of other systems.
struct Row<'a> {
    figure: &'a Figure,
    merit: f64,
    limit: Option<f64>,
    peers: Vec<(&'a str, f64)>,
}

impl<'a> Chart<'a> {
    fn of(figures: &'a [Figure], peers: &'a [Figure]) -> Self {
        let row = |figure: &'a Figure| {
            let of_same_name = peers.iter().filter(|peer| peer.name == figure.name);
            let placed = of_same_name
                .filter_map(|peer| Some((peer.of.as_deref()?, figure.merit(peer.value)?)));
            Some(Row {
                figure,
                merit: figure.merit(figure.value)?,
                limit: figure.limit.and_then(|limit| figure.merit(limit)),
                peers: placed.collect(),
            })
        };
        let rows: Vec<_> = figures.iter().filter_map(row).collect();
        let all = rows.iter().flat_map(|row| {
            let peers = row.peers.iter().map(|peer| peer.1);
            [row.merit].into_iter().chain(row.limit).chain(peers)
        });
        let exponents = all.filter(|it| it.is_normal()).map(|it| it.abs().log2());
        let (low, high) = exponents.fold((-1.0, 1.0), |(low, high): (f64, f64), it| {
            (low.min(it), high.max(it))
        });
        let systems = rows
            .iter()
            .flat_map(|row| row.peers.iter().map(|peer| peer.0));
        let systems: BTreeSet<_> = systems.collect();
        Self {
            systems: systems.into_iter().collect(),
            axis: (low.floor() as i32, high.ceil() as i32),
            rows,
        }
    }

    fn place(&self, merit: f64) -> f64 {
        let (low, high) = (f64::from(self.axis.0), f64::from(self.axis.1));
        let part = ((merit.log2() - low) / (high - low)).clamp(0.0, 1.0);
        BARS.0 + part * (BARS.1 - BARS.0)
    }

    fn colour(&self, system: &str) -> &'static str {
        let place = self.systems.iter().position(|it| *it == system);
        PEERS[place.unwrap_or(0) % PEERS.len()]
    }

    fn to_svg(&self) -> String {
        let bottom = HEAD + ROW * self.rows.len() as f64;
        let height = bottom + 16.0;
        let mut svg = format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="system-ui, sans-serif" font-size="13">
<rect width="{WIDTH}" height="{height}" fill="white"/>
"#
        );
        text(
            &mut svg,
            (20.0, 28.0),
            "start",
            INK,
            "Figures beside their targets: a bar to the right is better than the target",
        );
        self.legend(&mut svg);
        for power in self.axis.0..=self.axis.1 {
            let x = self.place(2_f64.powi(power));
            let (colour, width) = if power == 0 { (INK, 1.5) } else { (GRID, 1.0) };
            let _ = writeln!(
                svg,
                r#"<line x1="{x:.1}" y1="{}" x2="{x:.1}" y2="{bottom}" stroke="{colour}" stroke-width="{width}"/>"#,
                HEAD - 8.0
            );
            // If there are many labels, every third one is enough.
            if self.axis.1 - self.axis.0 > MAX_LABELS && power % 3 != 0 {
                continue;
            }
            let label = match power {
                0 => "target".to_owned(),
                1.. => format!("{} ×", 1_u64 << power),
                _ => format!("1/{}", 1_u64 << -power),
            };
            text(&mut svg, (x, HEAD - 14.0), "middle", FAINT, &label);
        }
        for (number, row) in self.rows.iter().enumerate() {
            self.row(&mut svg, row, HEAD + ROW * (number as f64 + 0.5));
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn legend(&self, svg: &mut String) {
        let mut x = 20.0;
        let systems = self.systems.iter().map(|it| (*it, self.colour(it)));
        for (name, colour) in [("target met", MET), ("missed", MISSED)] {
            let _ = writeln!(
                svg,
                r#"<rect x="{x}" y="42" width="11" height="11" fill="{colour}"/>"#
            );
            text(svg, (x + 17.0, 52.0), "start", INK, name);
            x += 105.0;
        }
        diamond(svg, (x + 6.0, 47.5));
        text(
            svg,
            (x + 17.0, 52.0),
            "start",
            INK,
            "limit of machine and Postgres",
        );
        x += 240.0;
        for (name, colour) in systems {
            circle(svg, (x + 6.0, 47.5), colour);
            text(svg, (x + 17.0, 52.0), "start", INK, name);
            x += 40.0 + 7.0 * name.len() as f64;
        }
    }

    fn row(&self, svg: &mut String, row: &Row<'_>, middle: f64) {
        let (target, here) = (self.place(1.0), self.place(row.merit));
        let colour = if row.merit >= 1.0 { MET } else { MISSED };
        let (left, width) = (target.min(here), (target - here).abs().max(2.0));
        let top = middle - BAR / 2.0;
        let _ = writeln!(
            svg,
            r#"<rect x="{left:.1}" y="{top:.1}" width="{width:.1}" height="{BAR}" fill="{colour}"/>"#
        );
        for (system, merit) in &row.peers {
            circle(svg, (self.place(*merit), middle), self.colour(system));
        }
        if let Some(limit) = row.limit {
            diamond(svg, (self.place(limit), middle));
        }
        let figure = row.figure;
        let baseline = middle + 4.5;
        text(svg, (NAMES, baseline), "end", INK, &figure.name);
        let (sign, unit) = (figure.sign(), &figure.unit);
        let (value, target) = (
            rounded(figure.value),
            rounded(figure.target.unwrap_or(f64::NAN)),
        );
        let verdict = format!("{value} {unit}  ({sign} {target})");
        text(svg, (VALUES, baseline), "start", colour, &verdict);
    }
}

fn circle(svg: &mut String, (x, y): (f64, f64), colour: &str) {
    let _ = writeln!(
        svg,
        r#"<circle cx="{x:.1}" cy="{y:.1}" r="4.5" fill="{colour}" stroke="white"/>"#
    );
}

fn diamond(svg: &mut String, (x, y): (f64, f64)) {
    let _ = writeln!(
        svg,
        r#"<path d="M{x:.1} {:.1} l6 6 l-6 6 l-6 -6 z" fill="{INK}" stroke="white"/>"#,
        y - 6.0
    );
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, colour: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        svg,
        r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" fill="{colour}">{text}</text>"#
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_lies_on_the_side_of_its_verdict_and_peers_on_the_same_axis() {
        let figures = [
            Figure::new("speed", 400.0, "/s")
                .at_least(100.0)
                .beside(800.0),
            Figure::new("time <p50>", 8.0, "ms").at_most(2.0),
        ];
        let peer = Figure {
            of: Some("other 1.0".to_owned()),
            ..Figure::new("speed", 50.0, "/s")
        };
        let peers = [peer];
        let chart = Chart::of(&figures, &peers);
        assert_eq!(chart.axis, (-2, 3));
        let target = chart.place(1.0);
        assert!(chart.place(chart.rows[0].merit) > target);
        assert!(chart.place(chart.rows[1].merit) < target);
        assert_eq!(chart.rows[0].peers, [("other 1.0", 0.5)]);
        let svg = chart.to_svg();
        assert!(
            svg.contains("time &lt;p50>") && svg.contains("8 ms  (≤ 2)"),
            "{svg}"
        );
    }
}
