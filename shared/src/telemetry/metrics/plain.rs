//! Conversion of OpenMetrics text to the Prometheus text format 0.0.4.

/// Converts metrics. In 0.0.4, the name of a family includes the suffix of its samples, and there are no units and no
/// `info` type.
pub(super) fn from_open_metrics(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut help = None;
    for line in text.lines() {
        let Some(comment) = line.strip_prefix("# ") else {
            plain += line;
            plain.push('\n');
            continue;
        };
        match comment.split_once(' ') {
            Some(("HELP", rest)) => help = rest.split_once(' '),
            Some(("TYPE", rest)) => {
                let (name, kind) = rest.split_once(' ').unwrap_or((rest, "unknown"));
                plain += &describe(name, kind, help.take());
            }
            // Units, and the end marker.
            _ => {}
        }
    }
    plain
}

/// The comment lines before a metric family.
fn describe(name: &str, kind: &str, help: Option<(&str, &str)>) -> String {
    let (suffix, kind) = match kind {
        "counter" => ("_total", "counter"),
        "info" => ("_info", "gauge"),
        "unknown" => ("", "untyped"),
        kind => ("", kind),
    };
    let help = help.filter(|(described, _)| *described == name);
    let help = help.map(|(_, help)| format!("# HELP {name}{suffix} {help}\n"));
    format!("{}# TYPE {name}{suffix} {kind}\n", help.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_named_as_their_samples() {
        let open_metrics = "\
# HELP skillet_build The program.
# TYPE skillet_build info
skillet_build_info{version=\"0.1.0\"} 1
# HELP skillet_jobs_ended Jobs that have ended.
# TYPE skillet_jobs_ended counter
skillet_jobs_ended_total{skill=\"# TYPE a b\"} 2
# HELP skillet_took_seconds How long.
# TYPE skillet_took_seconds histogram
# UNIT skillet_took_seconds seconds
skillet_took_seconds_sum 0.5
skillet_took_seconds_count 1
skillet_took_seconds_bucket{le=\"+Inf\"} 1
# EOF
";
        let plain = "\
# HELP skillet_build_info The program.
# TYPE skillet_build_info gauge
skillet_build_info{version=\"0.1.0\"} 1
# HELP skillet_jobs_ended_total Jobs that have ended.
# TYPE skillet_jobs_ended_total counter
skillet_jobs_ended_total{skill=\"# TYPE a b\"} 2
# HELP skillet_took_seconds How long.
# TYPE skillet_took_seconds histogram
skillet_took_seconds_sum 0.5
skillet_took_seconds_count 1
skillet_took_seconds_bucket{le=\"+Inf\"} 1
";
        assert_eq!(from_open_metrics(open_metrics), plain);
    }
}
