//! Figures as a Markdown table.

use std::io::Write;

use crate::figure::{Figure, rounded};

/// Prints the figures that have a target, with those of other systems for comparison.
pub(crate) fn print(figures: &[Figure]) {
    let mut stdout = std::io::stdout();
    let mut line = |text: &str| {
        // If the reader has closed the output, that is not an error.
        let _ = writeln!(stdout, "{text}");
    };
    line("| figure | here | target | beside it |");
    line("|---|--:|--:|---|");
    for figure in figures {
        let Some(target) = figure.target.filter(|_| figure.of.is_none()) else {
            continue;
        };
        let peers = figures.iter().filter(|it| it.name == figure.name);
        let peers = peers.filter_map(|it| Some((it.of.as_deref()?, it.value)));
        let beside: Vec<_> = peers
            .chain(figure.limit.map(|limit| ("limit", limit)))
            .map(|(whose, value)| format!("{whose}: {}", rounded(value)))
            .collect();
        let (name, unit, beside) = (&figure.name, &figure.unit, beside.join(", "));
        let (value, sign) = (rounded(figure.value), figure.sign());
        let target = rounded(target);
        line(&format!(
            "| {name} | {value} {unit} | {sign} {target} | {beside} |"
        ));
    }
}
