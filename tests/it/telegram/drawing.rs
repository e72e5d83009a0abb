//! Drawings of chat messages.

use std::fmt::Write;

use tests::bot_server::{MarkupRun, ShownMessage};

const WIDTH: usize = 560;
/// The number of characters in a line.
const COLUMNS: usize = 52;
const LINE: usize = 19;
const MARGIN: usize = 14;
const BUBBLE: usize = 430;
const PICTURE: usize = 90;
const BUTTON: usize = 30;

/// Returns a drawing that is the same for the same conversation at any pace.
pub(super) fn draw(messages: &[ShownMessage]) -> String {
    let mut body = String::new();
    let mut top = MARGIN;
    for message in messages {
        top = draw_message(&mut body, message, top) + 10;
    }
    let height = top + MARGIN - 10;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"14\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" rx=\"10\" fill=\"#d5e3ee\"/>\n{body}</svg>\n"
    )
}

/// Draws a message, and returns its lower end.
fn draw_message(body: &mut String, message: &ShownMessage, top: usize) -> usize {
    let lines = lines(message);
    let has_picture = message
        .file
        .as_ref()
        .is_some_and(|file| file.kind == "photo");
    let picture = if has_picture { PICTURE } else { 0 };
    let height = lines.len() * LINE + picture + 16;
    let (left, fill) = match message.is_of_bot {
        true => (MARGIN, "#ffffff"),
        false => (WIDTH - MARGIN - BUBBLE, "#e3f7d1"),
    };
    let _ = writeln!(
        body,
        "<rect x=\"{left}\" y=\"{top}\" width=\"{BUBBLE}\" height=\"{height}\" rx=\"10\" fill=\"{fill}\"/>"
    );
    let mut baseline = top + LINE + 2;
    if has_picture {
        for (bar, height) in [24, 18, 62].into_iter().enumerate() {
            let (x, y) = (left + 30 + 50 * bar, top + PICTURE - height);
            let _ = writeln!(
                body,
                "<rect x=\"{x}\" y=\"{y}\" width=\"34\" height=\"{height}\" fill=\"#2f7ebd\"/>"
            );
        }
        baseline += PICTURE;
    }
    for line in lines {
        let x = left + 12;
        let _ = write!(
            body,
            "<text x=\"{x}\" y=\"{baseline}\" xml:space=\"preserve\">"
        );
        line.iter().for_each(|run| draw_run(body, run));
        body.push_str("</text>\n");
        baseline += LINE;
    }
    draw_buttons(body, message, left, top + height + 4)
}

fn draw_buttons(body: &mut String, message: &ShownMessage, left: usize, mut top: usize) -> usize {
    for row in &message.buttons {
        let width = (BUBBLE - 4 * (row.len() - 1)) / row.len();
        for (place, (label, _)) in row.iter().enumerate() {
            let x = left + place * (width + 4);
            let (middle, baseline) = (x + width / 2, top + 20);
            let _ = writeln!(
                body,
                "<rect x=\"{x}\" y=\"{top}\" width=\"{width}\" height=\"{BUTTON}\" rx=\"8\" fill=\"#8fb3cf\"/>\n\
                 <text x=\"{middle}\" y=\"{baseline}\" text-anchor=\"middle\" fill=\"#ffffff\">{}</text>",
                escape(label)
            );
        }
        top += BUTTON + 4;
    }
    top - 4
}

fn draw_run(body: &mut String, run: &MarkupRun) {
    let has = |tag: &str| run.tags.iter().any(|it| it == tag);
    let mut style = String::new();
    if has("pre") || has("code") {
        style.push_str(" font-family=\"monospace\" font-size=\"12.5\" fill=\"#345\"");
    }
    style.push_str(if has("b") {
        " font-weight=\"bold\""
    } else {
        ""
    });
    style.push_str(if has("i") {
        " font-style=\"italic\""
    } else {
        ""
    });
    let _ = write!(body, "<tspan{style}>{}</tspan>", escape(&run.text));
}

/// Returns the lines of a message, with constants in place of text that varies between runs.
fn lines(message: &ShownMessage) -> Vec<Vec<MarkupRun>> {
    let mut runs = message.runs.clone();
    if let Some(file) = &message.file {
        let text = format!("📎 {}\n", file.name);
        runs.push(MarkupRun {
            text,
            tags: Vec::new(),
        });
    }
    if !message.is_of_bot {
        // A person does not write the marker of the scripted model.
        let text = message
            .text
            .split(" #")
            .next()
            .unwrap_or_default()
            .to_owned();
        runs.push(MarkupRun {
            text,
            tags: Vec::new(),
        });
    }
    let mut lines = vec![Vec::new()];
    let mut column = 0;
    for run in runs {
        for (number, line) in steady(&run.text).split('\n').enumerate() {
            if number > 0 {
                lines.push(Vec::new());
                column = 0;
            }
            for word in line.split_inclusive(' ') {
                let length = word.chars().count();
                if column > 0 && column + length > COLUMNS {
                    lines.push(Vec::new());
                    column = 0;
                }
                column += length;
                let tags = run.tags.clone();
                let text = word.to_owned();
                lines.last_mut().unwrap().push(MarkupRun { text, tags });
            }
        }
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// Returns the text with constant durations and ids.
fn steady(text: &str) -> String {
    let words = text.split(' ').collect::<Vec<_>>();
    let is_duration = |place: usize| {
        let next = words
            .get(place + 1)
            .is_some_and(|it| it.trim_end_matches(',').starts_with('s'));
        next && words[place].parse::<f64>().is_ok()
    };
    let words = (0..words.len()).map(|place| match is_duration(place) {
        true => "0.2".to_owned(),
        false => match words[place].starts_with("appr_") {
            true => "appr_…".to_owned(),
            false => words[place].to_owned(),
        },
    });
    words.collect::<Vec<_>>().join(" ")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
