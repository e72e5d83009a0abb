//! The front matter of a `SKILL.md`: YAML between two lines `---`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::SkillError;

/// The fields that we read.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct FrontMatter {
    pub(super) name: String,
    pub(super) description: String,
    #[serde(default)]
    pub(super) allowed_tools: String,
    #[serde(default)]
    pub(super) metadata: BTreeMap<String, String>,
}

/// The front matter, and the text after it.
pub(super) fn read(text: &str) -> Result<(FrontMatter, &str), SkillError> {
    let (yaml, instructions) = split(text).ok_or(SkillError::NoFrontMatter)?;
    // Errors name lines, which are to be those of the file: one comes before.
    let yaml = format!("\n{yaml}");
    let front = serde_saphyr::from_str_with_options(&yaml, limits())
        .map_err(|error| SkillError::Yaml(first_line(&error.to_string())))?;
    Ok((front, instructions))
}

fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches('\u{feff}');
    let rest = text
        .strip_prefix("---\n")
        .or_else(|| text.strip_prefix("---\r\n"))?;
    let end = rest.find("\n---")?;
    let (_, body) = rest[end + 1..].split_once('\n').unwrap_or_default();
    Some((&rest[..end], body))
}

/// What a front matter may make of itself: some hundred fields, and anchors that stand for a few of them. Each is
/// reached within milliseconds.
fn limits() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 10_000,
            max_nodes: 5_000,
            max_aliases: 100,
            max_anchors: 100,
            max_recorded_anchor_events: 5_000,
            max_depth: 32,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 1_000,
            max_replay_stack_depth: 8,
        },
    }
}

/// What is wrong and on which line; the lines after it draw a picture of that.
fn first_line(error: &str) -> String {
    let line = error.lines().next().unwrap_or_default();
    line.trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::skill::Skill;

    fn parse(front_matter: &str) -> Result<Skill, SkillError> {
        let text = format!("---\nname: a\n{front_matter}---\n");
        Skill::parse("a", &text, String::new())
    }

    #[test]
    fn lines_of_errors_are_those_of_the_file() {
        let error = parse("description: A.\nmetadata: [\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "its front matter cannot be read: line 4 column 11: expected mapping start"
        );
    }

    #[test]
    fn an_anchor_may_stand_for_a_value() {
        let skill = parse("description: &about A.\nmetadata:\n  skillet.title: *about\n");
        assert_eq!(skill.unwrap().title, "A.");
    }

    #[test]
    fn aliases_that_multiply_end_at_once() {
        // Each line stands for ten times the one before it.
        let line = |depth: u32| {
            let before = vec![format!("*x{}", depth - 1); 10].join(", ");
            format!("x{depth}: &x{depth} [{before}]\n")
        };
        let bomb: String = (1..=8).map(line).collect();
        let begun_at = Instant::now();
        let error = parse(&format!("description: A.\nx0: &x0 lol\n{bomb}")).unwrap_err();
        assert!(matches!(error, SkillError::Yaml(_)), "{error}");
        assert!(begun_at.elapsed() < Duration::from_secs(1), "{error}");
    }
}
