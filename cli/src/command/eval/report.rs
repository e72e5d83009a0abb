//! The report: a self-contained HTML page with all tasks, their files, times and costs.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use shared::job::Job;

use super::attempt::{Attempt, Verdict};
use super::check_script::CheckResult;
use super::report_file::ReportFile;
use crate::html::escape;
use crate::output::{dollars, seconds};

const STYLE: &str = include_str!("report.css");

/// The data in the report that applies to all tasks.
pub(super) struct ReportHeader {
    pub(super) model: String,
    pub(super) elapsed: Duration,
}

/// Writes the report.
pub(super) fn write(
    path: &Path,
    header: &ReportHeader,
    attempts: &[Attempt<'_>],
) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(path, render(header, attempts)))
        .with_context(|| format!("cannot write {}", path.display()))
}

fn render(header: &ReportHeader, attempts: &[Attempt<'_>]) -> String {
    let count = |wanted: &str| attempts.iter().filter(|it| state(it) == wanted).count();
    let costs = attempts.iter().filter_map(cost);
    let costs: Vec<_> = costs.collect();
    let cost = match costs.is_empty() {
        true => "cost unknown".to_owned(),
        false => dollars(costs.iter().sum()),
    };
    let rows: String = attempts.iter().map(row).collect();
    let sections: String = attempts.iter().map(section).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Skillet eval: {model}</title>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><style>{STYLE}</style></head><body>\n\
         <h1>{model}</h1>\n<p class=\"sum\"><b class=\"passed\">{} passed</b> <b class=\"failed\">{} failed</b> \
         <b class=\"skipped\">{} skipped</b> · {} · {cost} · Skillet {}</p>\n\
         <table><thead><tr><th>Task<th>Skill<th>Result<th>Checks<th>Time<th>Replies<th>Tokens<th>Cost</tr></thead>\
         <tbody>\n{rows}</tbody></table>\n{sections}</body></html>\n",
        count("passed"),
        count("failed"),
        count("skipped"),
        seconds(i64::try_from(header.elapsed.as_millis()).unwrap_or(i64::MAX)),
        env!("CARGO_PKG_VERSION"),
        model = escape(&header.model),
    )
}

fn state(attempt: &Attempt<'_>) -> &'static str {
    match attempt.verdict {
        Verdict::Passed => "passed",
        Verdict::Failed { .. } => "failed",
        Verdict::Skipped { .. } => "skipped",
    }
}

fn cost(attempt: &Attempt<'_>) -> Option<f64> {
    let tokens = attempt.job.as_ref()?.result.usage.tokens;
    tokens.cost_usd.map(|cost| cost.to_f64())
}

fn row(attempt: &Attempt<'_>) -> String {
    let state = state(attempt);
    let passed = attempt.checks.iter().filter(|check| check.passed).count();
    let of_job = |show: fn(&Job) -> String| attempt.job.as_ref().map(show).unwrap_or_default();
    format!(
        "<tr><td><a href=\"#{name}\">{name}</a><td>{}<td class=\"{state}\">{state}<td>{passed}/{}<td>{}<td>{}<td>{}<td>{}</tr>\n",
        escape(&attempt.task.skill),
        attempt.checks.len(),
        of_job(|job| job.duration_ms.map(seconds).unwrap_or_default()),
        of_job(|job| job.result.usage.iterations.to_string()),
        of_job(|job| {
            let tokens = job.result.usage.tokens;
            (tokens.input_tokens + tokens.output_tokens).to_string()
        }),
        cost(attempt).map(dollars).unwrap_or_default(),
        name = escape(&attempt.task.name),
    )
}

fn section(attempt: &Attempt<'_>) -> String {
    let task = attempt.task;
    let mut section = format!(
        "<section id=\"{name}\"><h2><span class=\"{state}\">{state}</span> {name} <small>{}</small></h2>\n\
         <details><summary>{}</summary><pre>{}</pre></details>\n",
        escape(&task.skill),
        escape(task.title()),
        escape(task.prompt.trim()),
        name = escape(&task.name),
        state = state(attempt),
    );
    // Writing to a `String` does not fail.
    let reasons = match &attempt.verdict {
        Verdict::Passed => &[][..],
        Verdict::Failed { reasons } => reasons,
        Verdict::Skipped { reason } => std::slice::from_ref(reason),
    };
    for reason in reasons {
        let _ = writeln!(section, "<p class=\"reason\">{}</p>", escape(reason));
    }
    if !attempt.checks.is_empty() {
        let checks: String = attempt.checks.iter().map(check).collect();
        let _ = writeln!(section, "<ul class=\"checks\">{checks}</ul>");
    }
    if let Some(job) = &attempt.job {
        let text = job.result.text.as_deref().unwrap_or_default().trim();
        let _ = writeln!(
            section,
            "<details><summary>Answer, {}</summary><pre>{}</pre></details>",
            job.id,
            escape(text)
        );
    }
    section.extend(attempt.files.iter().map(file));
    section + "</section>\n"
}

fn check(check: &CheckResult) -> String {
    let CheckResult {
        name,
        passed,
        output,
    } = check;
    let (class, mark) = match passed {
        true => ("passed", "✓"),
        false => ("failed", "✗"),
    };
    let output = match output.trim() {
        "" => String::new(),
        output if *passed => format!(
            "<details><summary>printed</summary><pre>{}</pre></details>",
            escape(output)
        ),
        output => format!("<pre>{}</pre>", escape(output)),
    };
    format!(
        "<li><span class=\"{class}\">{mark}</span> {}{output}</li>\n",
        escape(name)
    )
}

fn file(file: &ReportFile) -> String {
    let name = escape(&file.name);
    let kind = file.content_type.split('/').next().unwrap_or_default();
    let seen = match (&file.picture, &file.url, kind) {
        (Some(picture), _, _) => format!("<img src=\"{picture}\" alt=\"{name}\" loading=\"lazy\">"),
        (None, Some(url), "image") => {
            format!("<img src=\"{url}\" alt=\"{name}\" loading=\"lazy\">")
        }
        (None, Some(url), "video") => format!("<video controls src=\"{url}\"></video>"),
        (None, Some(url), "audio") => format!("<audio controls src=\"{url}\"></audio>"),
        _ => match &file.text {
            Some(text) => format!("<pre>{}</pre>", escape(text)),
            None => String::new(),
        },
    };
    let link = match &file.url {
        Some(url) => format!("<a download=\"{name}\" href=\"{url}\">{name}</a>"),
        None => format!("{name}, too large for the report"),
    };
    format!(
        "<figure>{seen}<figcaption>{link} · {} bytes</figcaption></figure>\n",
        file.size
    )
}

#[cfg(test)]
mod tests {
    use super::super::task::Task;
    use super::*;

    #[test]
    fn no_text_becomes_markup_and_every_kind_is_shown() {
        let task: Task = serde_json::from_value(serde_json::json!({
            "name": "a", "skill": "shell", "prompt": "Say <b>.\nMore.",
        }))
        .unwrap();
        let file = |content_type: &str, text: Option<&str>| ReportFile {
            name: "<x>".to_owned(),
            content_type: content_type.to_owned(),
            size: 3,
            url: Some("data:x".to_owned()),
            picture: None,
            text: text.map(str::to_owned),
        };
        let attempt = Attempt {
            task: &task,
            verdict: Verdict::Failed {
                reasons: vec!["no <i>".to_owned()],
            },
            job: None,
            checks: vec![CheckResult {
                name: "is <u>".to_owned(),
                passed: false,
                output: "<s>".to_owned(),
            }],
            files: vec![
                file("image/png", None),
                file("video/mp4", None),
                file("audio/mpeg", None),
                file("text/plain", Some("<q>")),
            ],
        };
        let header = ReportHeader {
            model: "a/b".to_owned(),
            elapsed: Duration::from_secs(3),
        };
        let page = render(&header, &[attempt]);
        for part in [
            "0 passed</b> <b class=\"failed\">1 failed",
            "<td>0/1<td>",
            "Say &lt;b&gt;.",
            "no &lt;i&gt;",
            "is &lt;u&gt;<pre>&lt;s&gt;</pre>",
            "<img src=\"data:x\" alt=\"&lt;x&gt;\"",
            "<video controls src",
            "<audio controls src",
            "<pre>&lt;q&gt;</pre>",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}
