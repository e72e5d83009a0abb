//! The human-readable form of a job.

use chrono::SecondsFormat;
use shared::job::{Job, Status};

use crate::exit::is_limit;
use crate::output::{Cell, View, dollars, seconds};
use crate::queue_reason;
use crate::terminal::{print, print_foreign, without_controls};

/// Prints the state of a job, then its text, its files and its error.
pub(crate) fn show(job: &Job) -> anyhow::Result<()> {
    let view = View::of_stdout();
    let status = Cell::Status(job.status.as_str().to_owned());
    print(&format!("{}  {}", job.id, status.styled(&view)))?;
    for (name, value) in fields(job, &view) {
        print(&format!("{name:<9} {value}"))?;
    }
    if let Some(text) = &job.result.text {
        print_foreign(text)?;
    }
    for output in &job.result.outputs {
        let asset = &output.asset;
        let (kind, name, size) = (output.kind.as_str(), &asset.name, asset.size);
        print_foreign(&format!(
            "{kind}: {name} ({}, {size} bytes)",
            asset.content_type
        ))?;
    }
    for warning in &job.result.warnings {
        print_foreign(&format!("warning: {warning}"))?;
    }
    if let Some(error) = &job.result.error {
        print_foreign(&format!("error: {error} ({})", error.code.as_str()))?;
    }
    Ok(())
}

fn fields(job: &Job, view: &View) -> Vec<(&'static str, String)> {
    let name = |name: &Option<String>, version: Option<i32>| {
        let version = version.map(|version| format!(" version {version}"));
        name.as_ref()
            .map(|name| name.clone() + &version.unwrap_or_default())
    };
    let created =
        Cell::Time(job.created_at.to_rfc3339_opts(SecondsFormat::Micros, true)).styled(view);
    let fields = [
        ("title", Some(Cell::Text(job.title.clone()).styled(view))),
        ("skill", name(&job.skill, job.skill_version)),
        ("agent", name(&job.agent, job.agent_version)),
        ("model", Some(job.model.to_string())),
        ("created", Some(created)),
        ("waits", job.queue.as_ref().map(queue_reason::describe)),
        ("usage", job.finished_at.map(|_| usage(job))),
        ("stopped", stop(job)),
        ("retry of", job.retry_of.map(|id| id.to_string())),
    ];
    let fields = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    fields.filter(|(_, value)| !value.is_empty()).collect()
}

/// A one-line summary of an ended job: its state, duration, tokens and cost.
pub(crate) fn summary(job: &Job) -> String {
    let stop = stop(job)
        .map(|stop| format!(", stopped by {stop}"))
        .unwrap_or_default();
    let mark = match job.status {
        Status::Completed if stop.is_empty() => "✓",
        Status::Completed => "!",
        _ => "✗",
    };
    let error = job.result.error.as_ref();
    let error = error
        .map(|error| format!(": {}", without_controls(&error.message)))
        .unwrap_or_default();
    format!(
        "{mark} {} {}{stop}{error} ({})",
        job.id,
        job.status.as_str(),
        usage(job)
    )
}

/// The limit that stopped a job.
fn stop(job: &Job) -> Option<String> {
    let stop = job.result.stop_reason.filter(|stop| is_limit(*stop))?;
    Some(stop.as_str().to_owned())
}

/// The duration, the tokens and the cost of an ended job.
fn usage(job: &Job) -> String {
    let tokens = &job.result.usage.tokens;
    let duration = job.duration_ms.map(seconds);
    let counted = (tokens.input_tokens + tokens.output_tokens > 0).then(|| {
        format!(
            "{} tokens in, {} out",
            tokens.input_tokens, tokens.output_tokens
        )
    });
    let cost = tokens.cost_usd.map(|cost| dollars(cost.to_f64()));
    let parts: Vec<_> = [duration, counted, cost].into_iter().flatten().collect();
    if parts.is_empty() {
        return "never started".to_owned();
    }
    parts.join(", ")
}
