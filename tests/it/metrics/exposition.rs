//! A strict parser of OpenMetrics text.

use std::collections::{BTreeMap, HashMap, HashSet};

/// Values by series, which is the name and the labels as written.
pub(super) type Samples = BTreeMap<String, f64>;

/// Parses the whole text.
///
/// # Panics
///
/// If the text is invalid.
pub(super) fn parse(text: &str) -> Samples {
    let body = text.strip_suffix("# EOF\n").expect("it ends with EOF");
    let mut families: HashMap<&str, &str> = HashMap::new();
    let mut family = ("", "");
    let mut samples = Samples::new();
    for line in body.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let (keyword, rest) = comment.split_once(' ').expect(line);
            let (name, value) = rest.split_once(' ').expect(line);
            match keyword {
                "HELP" => assert!(value.ends_with('.'), "{line}"),
                "TYPE" => {
                    assert!(
                        ["counter", "gauge", "histogram", "info"].contains(&value),
                        "{line}"
                    );
                    assert!(
                        families.insert(name, value).is_none(),
                        "{name} is there twice"
                    );
                    family = (name, value);
                }
                "UNIT" => assert!(name.ends_with(&format!("_{value}")), "{line}"),
                other => panic!("{other} is no keyword"),
            }
            continue;
        }
        let (series, value) = line.rsplit_once(' ').expect(line);
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let suffix = name
            .strip_prefix(family.0)
            .unwrap_or_else(|| panic!("{line} is not of {family:?}"));
        let allowed: &[&str] = match family.1 {
            "counter" => &["_total"],
            "histogram" => &["_bucket", "_sum", "_count"],
            "info" => &["_info"],
            _ => &[""],
        };
        assert!(allowed.contains(&suffix), "{line}");
        assert!(is_ours(name), "{line}");
        check_labels(labels);
        let value: f64 = value.parse().expect(line);
        assert!(family.1 == "gauge" || value >= 0.0, "{line}");
        assert!(
            samples.insert(series.to_owned(), value).is_none(),
            "{series} is there twice"
        );
    }
    check_histograms(&samples, &families);
    samples
}

/// Whether the metric has the prefix of this service or that of the standard process metrics.
fn is_ours(name: &str) -> bool {
    ["skillet_", "process_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// Checks the text format 0.0.4: each sample follows the type line of its family and has the name of the family.
///
/// # Panics
///
/// If the text is invalid.
pub(super) fn check_plain(text: &str) {
    let mut families = HashSet::new();
    let mut family = ("", "");
    for line in text.lines() {
        if let Some(described) = line.strip_prefix("# TYPE ") {
            family = described.split_once(' ').expect(line);
            assert!(
                ["counter", "gauge", "histogram"].contains(&family.1),
                "{line}"
            );
            assert!(families.insert(family.0), "{line} is there twice");
            assert_eq!(
                family.1 == "counter",
                family.0.ends_with("_total"),
                "{line}"
            );
            continue;
        }
        if line.starts_with('#') {
            assert!(line.strip_prefix("# HELP ").is_some_and(is_ours), "{line}");
            continue;
        }
        let name = line.split(['{', ' ']).next().unwrap();
        let suffix = name.strip_prefix(family.0);
        let allowed: &[&str] = match family.1 {
            "histogram" => &["_bucket", "_sum", "_count"],
            _ => &[""],
        };
        assert!(
            suffix.is_some_and(|it| allowed.contains(&it)),
            "{line} is not of {family:?}"
        );
        let (_, value) = line.rsplit_once(' ').expect(line);
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
    assert!(families.len() > 5, "{text}");
}

fn check_labels(labels: &str) {
    let mut rest = labels;
    while rest != "}" {
        let (name, after) = rest.split_once("=\"").expect(labels);
        assert!(
            !name.is_empty() && name.bytes().all(|it| it.is_ascii_lowercase() || it == b'_'),
            "{labels}"
        );
        let (_, after) = after.split_once('"').expect(labels);
        rest = after.strip_prefix(',').unwrap_or(after);
    }
}

/// Checks that bucket counts increase, and that the last bucket counts all samples.
fn check_histograms(samples: &Samples, families: &HashMap<&str, &str>) {
    for (family, _) in families.iter().filter(|(_, kind)| **kind == "histogram") {
        let mut buckets: HashMap<String, Vec<(f64, f64)>> = HashMap::new();
        let prefix = format!("{family}_bucket{{");
        for (series, count) in samples.range(prefix.clone()..) {
            let Some(labels) = series.strip_prefix(&prefix) else {
                break;
            };
            let (before, bound) = labels.split_once("le=\"").expect(series);
            let (bound, after) = bound.split_once('"').expect(series);
            let others = format!("{before}{after}");
            let bound = bound.parse().expect(series);
            buckets.entry(others).or_default().push((bound, *count));
        }
        for (labels, mut buckets) in buckets {
            buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
            assert!(
                buckets.is_sorted_by(|one, other| one.1 <= other.1),
                "{family} {labels}"
            );
            let labels = labels.trim_matches(['}', ',']);
            let count = match labels {
                "" => format!("{family}_count"),
                labels => format!("{family}_count{{{labels}}}"),
            };
            let (bound, all) = buckets[buckets.len() - 1];
            assert_eq!((bound, all), (f64::INFINITY, samples[&count]), "{count}");
        }
    }
}
