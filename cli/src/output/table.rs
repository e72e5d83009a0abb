//! Tables: aligned with headers at a terminal, tab-separated for programs.

use chrono::{DateTime, Utc};
use console::{Style, measure_text_width, truncate_str};
use serde_json::Value;

use super::cell::Cell;
use super::view::View;

/// The spaces between two columns.
const GAP: usize = 2;
/// The minimum width of the last column.
const MIN_REST: usize = 8;

/// A column of a table.
pub(crate) struct Column {
    title: &'static str,
    cell: fn(&Value) -> Cell,
}

impl Column {
    pub(crate) const fn new(title: &'static str, cell: fn(&Value) -> Cell) -> Self {
        Self { title, cell }
    }
}

/// The lines of a table, without trailing spaces.
pub(super) fn lines(view: &View, columns: &[Column], entries: &[Value]) -> Vec<String> {
    let row = |entry: &Value| columns.iter().map(|column| (column.cell)(entry)).collect();
    let rows: Vec<Vec<Cell>> = entries.iter().map(row).collect();
    match view {
        View::Pipe => rows.iter().map(|row| tab_separated(row)).collect(),
        View::Terminal { .. } if rows.is_empty() => Vec::new(),
        View::Terminal { width, now } => aligned(columns, &rows, *width, *now),
    }
}

fn tab_separated(row: &[Cell]) -> String {
    let cells: Vec<_> = row.iter().map(|cell| cell.shown(None)).collect();
    cells.join("\t")
}

/// Aligns the columns. The last column takes the rest of the line. If it does not fit, columns before it are omitted.
fn aligned(
    columns: &[Column],
    rows: &[Vec<Cell>],
    width: usize,
    now: DateTime<Utc>,
) -> Vec<String> {
    let shown: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| cell.shown(Some(now))).collect())
        .collect();
    let widest = |column: usize| {
        let cells = shown.iter().map(|row| measure_text_width(&row[column]));
        let title = columns[column].title.len();
        cells.max().unwrap_or_default().max(title)
    };
    let widths: Vec<usize> = (0..columns.len()).map(widest).collect();
    let kept = fitting(&widths, width);
    let line = |texts: &[String], styles: &[Style]| {
        let mut line = String::new();
        let mut rest = width;
        for (place, &column) in kept.iter().enumerate() {
            let is_last = place + 1 == kept.len();
            let room = if is_last { rest.max(1) } else { widths[column] };
            let text = truncate_str(&texts[column], room, "…");
            let padding = widths[column] + GAP - measure_text_width(&text).min(widths[column]);
            line += &styles[column].apply_to(text).to_string();
            line += &" ".repeat(if is_last { 0 } else { padding });
            rest = rest.saturating_sub(widths[column] + GAP);
        }
        line.trim_end().to_owned()
    };
    let titles: Vec<_> = columns
        .iter()
        .map(|column| column.title.to_owned())
        .collect();
    let bold = vec![Style::new().bold(); columns.len()];
    let header = std::iter::once(line(&titles, &bold));
    let body = rows.iter().zip(&shown).map(|(row, texts)| {
        let styles: Vec<_> = row.iter().map(Cell::style).collect();
        line(texts, &styles)
    });
    header.chain(body).collect()
}

/// The columns that fit into the width: at least the first two, and the last one if there is enough room.
fn fitting(widths: &[usize], width: usize) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..widths.len()).collect();
    while let [before @ .., last] = &kept[..]
        && kept.len() > 2
    {
        let start: usize = before.iter().map(|column| widths[*column] + GAP).sum();
        if start + widths[*last].min(MIN_REST) <= width {
            break;
        }
        // Of three columns, the last one is removed, because the second one is the state of the first.
        let left_out = if before.len() > 2 {
            before.len() - 1
        } else {
            before.len()
        };
        kept.remove(left_out);
    }
    kept
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const COLUMNS: &[Column] = &[
        Column::new("ID", |entry| Cell::text(&entry["id"])),
        Column::new("AGE", |entry| Cell::time(&entry["at"])),
        Column::new("TITLE", |entry| Cell::text(&entry["title"])),
    ];

    fn lines(view: &View) -> Vec<String> {
        let entries = [
            json!({"id": "a", "at": "2026-01-01T00:00:00Z", "title": "Größe\nof a thing"}),
            json!({"id": "long", "at": null, "title": "x"}),
        ];
        super::lines(view, COLUMNS, &entries)
    }

    #[test]
    fn a_terminal_gets_headers_and_a_program_gets_tabs() {
        let now = "2026-01-01T00:05:00Z".parse().unwrap();
        let at = |width| lines(&View::Terminal { width, now });
        assert_eq!(
            at(80),
            [
                "ID    AGE     TITLE",
                "a     5m ago  Größe of a thing",
                "long          x"
            ]
        );
        assert_eq!(at(24)[1], "a     5m ago  Größe of …");
        assert_eq!(at(16), ["ID    AGE", "a     5m ago", "long"]);
        assert_eq!(at(10), ["ID    AGE", "a     5m …", "long"]);
        assert_eq!(fitting(&[36, 9, 7, 8, 30], 70), [0, 1, 2, 4]);
        assert_eq!(fitting(&[36, 9, 7, 8, 30], 46), [0, 1]);
        assert_eq!(
            lines(&View::Pipe),
            ["a\t2026-01-01T00:00:00Z\tGröße of a thing", "long\t\tx"]
        );
    }
}
