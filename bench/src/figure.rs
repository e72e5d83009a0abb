//! What was measured, beside what it should be.

use std::io::Write;
use std::path::Path;

use serde::Serialize;

/// One measurement.
#[derive(Serialize)]
pub(crate) struct Figure {
    name: String,
    value: f64,
    unit: &'static str,
    target: Option<f64>,
    met: Option<bool>,
}

impl Figure {
    /// A figure that should be at least `target`.
    pub(crate) fn new(name: &str, value: f64, unit: &'static str, target: Option<f64>) -> Self {
        let met = target.map(|target| value >= target);
        Self {
            name: name.to_owned(),
            value,
            unit,
            target,
            met,
        }
    }

    /// A figure that should be at most `target`.
    pub(crate) fn at_most(name: &str, value: f64, unit: &'static str, target: f64) -> Self {
        Self {
            name: name.to_owned(),
            value,
            unit,
            target: Some(target),
            met: Some(value <= target),
        }
    }
}

/// The value that `percent` of the sample do not exceed.
pub(crate) fn percentile(sample: &[f64], percent: usize) -> f64 {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}

/// Prints a table to standard output.
pub(crate) fn print(figures: &[Figure]) {
    let mut stdout = std::io::stdout();
    for figure in figures {
        let target = figure
            .target
            .map_or(String::new(), |target| format!("target {target}"));
        let mark = figure.met.map_or("", |met| if met { "✓" } else { "✗" });
        let Figure {
            name, value, unit, ..
        } = figure;
        // A reader that went away is no error of ours.
        let _ = writeln!(stdout, "{name:58} {value:10.2} {unit:7} {target:14} {mark}");
    }
}

/// Writes the figures as a list of objects.
pub(crate) fn write_json(figures: &[Figure], path: &Path) -> anyhow::Result<()> {
    Ok(std::fs::write(
        path,
        serde_json::to_string_pretty(figures)?,
    )?)
}
