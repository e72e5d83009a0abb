//! Measured figures and their targets.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

/// One measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) unit: String,
    /// `None` for a figure that is only informative.
    pub(crate) target: Option<f64>,
    pub(crate) met: Option<bool>,
    /// The side of the target on which the value should be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bound: Option<Bound>,
    /// The best value that this machine and this database can reach, measured in the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<f64>,
    /// The system that was measured, if it is not Skillet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) of: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bound {
    AtLeast,
    AtMost,
}

impl Figure {
    /// Creates a figure without a target.
    pub(crate) fn new(name: impl Into<String>, value: f64, unit: &str) -> Self {
        Self {
            name: name.into(),
            value,
            unit: unit.to_owned(),
            target: None,
            met: None,
            bound: None,
            limit: None,
            of: None,
        }
    }

    pub(crate) fn at_least(self, target: f64) -> Self {
        Self {
            target: Some(target),
            met: Some(self.value >= target),
            bound: Some(Bound::AtLeast),
            ..self
        }
    }

    pub(crate) fn at_most(self, target: f64) -> Self {
        Self {
            target: Some(target),
            met: Some(self.value <= target),
            bound: Some(Bound::AtMost),
            ..self
        }
    }

    pub(crate) fn beside(self, limit: f64) -> Self {
        Self {
            limit: Some(limit),
            ..self
        }
    }

    /// Returns how many times as good as the target a value of this figure is. 1 is the target itself.
    pub(crate) fn merit(&self, value: f64) -> Option<f64> {
        let target = self.target?;
        match self.bound? {
            Bound::AtLeast => Some(value / target),
            Bound::AtMost => Some(target / value),
        }
    }

    /// Returns the sign before the target.
    pub(crate) fn sign(&self) -> char {
        match self.bound {
            Some(Bound::AtMost) => '≤',
            _ => '≥',
        }
    }

    /// Returns a short text with the target, and whether it was met.
    fn verdict(&self) -> String {
        let Some((target, met)) = self.target.zip(self.met) else {
            return String::new();
        };
        let target = format!("{} {}", self.sign(), rounded(target));
        if met {
            return format!("{target:>10}  ✓");
        }
        let off = (self.value / self.target.unwrap_or(f64::NAN) - 1.0) * 100.0;
        format!("{target:>10}  ✗ by {off:+.0} %")
    }
}

/// Returns p50 and p99 of times in milliseconds, each with its target.
pub(crate) fn times(name: &str, sample: &[f64], targets: Option<(f64, f64)>) -> [Figure; 2] {
    let figure = |percent, target: Option<f64>| {
        let value = percentile(sample, percent);
        let figure = Figure::new(format!("{name}, p{percent}"), value, "ms");
        match target {
            Some(target) => figure.at_most(target),
            None => figure,
        }
    };
    [
        figure(50, targets.map(|it| it.0)),
        figure(99, targets.map(|it| it.1)),
    ]
}

/// Returns the value that `percent` of the sample do not exceed.
pub(crate) fn percentile(sample: &[f64], percent: usize) -> f64 {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}

pub(crate) fn median(sample: &[f64]) -> f64 {
    percentile(sample, 50)
}

/// Formats a number for people, with about three significant digits.
pub(crate) fn rounded(value: f64) -> String {
    let digits = match value.abs() {
        0.0..1.0 => 2,
        1.0..100.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.digits$}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let fraction = fraction.trim_end_matches('0');
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && digit.is_ascii_digit() && (whole.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if fraction.is_empty() {
        grouped
    } else {
        format!("{grouped}.{fraction}")
    }
}

/// Prints a table to standard output.
pub(crate) fn print(figures: &[Figure]) {
    let mut stdout = std::io::stdout();
    for figure in figures {
        let name = match &figure.of {
            Some(system) => format!("{} ({system})", figure.name),
            None => figure.name.clone(),
        };
        let (value, verdict) = (rounded(figure.value), figure.verdict());
        let limit = figure.limit.map_or(String::new(), |limit| {
            format!("  (limit {})", rounded(limit))
        });
        // If the reader has closed the output, that is not an error.
        let _ = writeln!(
            stdout,
            "{name:74} {value:>9} {:8} {verdict}{limit}",
            figure.unit
        );
    }
}

/// Writes the figures as a list of objects.
pub(crate) fn write_json(figures: &[Figure], path: &Path) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(figures)? + "\n";
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Reads files that [`write_json`] wrote. If several files contain a figure, the last one counts.
pub(crate) fn read_json(files: &[PathBuf]) -> anyhow::Result<Vec<Figure>> {
    let mut all: Vec<Figure> = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(file);
        let text = text.with_context(|| format!("cannot read {}", file.display()))?;
        let figures: Vec<Figure> = serde_json::from_str(&text)
            .with_context(|| format!("{} has no figures", file.display()))?;
        for figure in figures {
            let same = |it: &&mut Figure| it.name == figure.name && it.of == figure.of;
            match all.iter_mut().find(same) {
                Some(before) => *before = figure,
                None => all.push(figure),
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_that_count() {
        let written = [0.0, 0.057, 2.0, 24.5, 123.4, 51234.0, 1_000_000.0].map(rounded);
        assert_eq!(
            written,
            ["0", "0.06", "2", "24.5", "123", "51,234", "1,000,000"]
        );
    }

    #[test]
    fn a_percentile_is_a_value_of_the_sample() {
        let sample: Vec<_> = (1..=200).rev().map(f64::from).collect();
        assert_eq!(
            (percentile(&sample, 50), percentile(&sample, 99)),
            (100.0, 198.0)
        );
        assert_eq!(percentile(&[7.0], 99), 7.0);
    }

    #[test]
    fn merit_grows_with_what_is_better() {
        let speed = Figure::new("speed", 500.0, "/s").at_least(1000.0);
        let time = Figure::new("time", 2.0, "ms").at_most(1.0);
        assert_eq!(
            (speed.merit(500.0), time.merit(2.0)),
            (Some(0.5), Some(0.5))
        );
        assert_eq!((speed.met, time.met), (Some(false), Some(false)));
        assert_eq!(time.verdict().trim(), "≤ 1  ✗ by +100 %");
    }
}
