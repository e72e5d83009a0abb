//! The front matter of a `SKILL.md`: YAML between two lines `---`.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::SkillError;

/// The fields that the parser reads.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct FrontMatter {
    pub(super) name: String,
    pub(super) description: String,
    /// The list as text. `None` if it is missing.
    #[serde(default, deserialize_with = "tool_list")]
    pub(super) allowed_tools: Option<String>,
    /// The entries for Skillet. Entries of other programs can have any value.
    #[serde(default, deserialize_with = "own_entries")]
    pub(super) metadata: BTreeMap<String, String>,
}

/// The prefix of keys for Skillet.
const OWN_PREFIX: &str = "skillet.";

/// Reads the entries of a mapping that are for Skillet, and skips all other entries.
fn own_entries<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    let entries = Option::<OwnEntries>::deserialize(deserializer)?;
    Ok(entries.unwrap_or_default().0)
}

#[derive(Default)]
struct OwnEntries(BTreeMap<String, String>);

impl<'de> Deserialize<'de> for OwnEntries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OwnEntriesVisitor)
    }
}

struct OwnEntriesVisitor;

impl<'de> Visitor<'de> for OwnEntriesVisitor {
    type Value = OwnEntries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OwnEntries, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some(key) = map.next_key::<String>()? {
            if key.starts_with(OWN_PREFIX) {
                entries.insert(key, map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(OwnEntries(entries))
    }
}

/// Reads a list of tools, which is a string or a YAML list of strings.
fn tool_list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    struct ToolList;

    impl<'de> Visitor<'de> for ToolList {
        type Value = Option<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string or a list of tool names")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
            Ok(Some(text.to_owned()))
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<Self::Value, A::Error> {
            let mut text = String::new();
            while let Some(name) = names.next_element::<String>()? {
                text.push_str(&name);
                text.push(',');
            }
            Ok(Some(text))
        }
    }

    deserializer.deserialize_any(ToolList)
}

/// Parses the front matter. Also returns the text after it.
pub(super) fn read(text: &str) -> Result<(FrontMatter, &str), SkillError> {
    let (yaml, instructions) = split(text).ok_or(SkillError::NoFrontMatter)?;
    // Errors contain line numbers. The empty line stands for the first `---`, so they match the file.
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

/// Limits on parsing: a few hundred fields, and aliases for a few of them. Each limit is reached within milliseconds.
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

/// The error message with its line number. The lines after it show an excerpt of the source.
fn first_line(error: &str) -> String {
    let line = error.lines().next().unwrap_or_default();
    line.trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
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
    fn metadata_of_other_programs_may_hold_anything() {
        let skill = parse(
            "description: A.\nlicense: MIT\ncompatibility: any\nmodel: inherit\nmetadata:\n  version: 1.0\n  \
             author: {name: Ada}\n  tags: [a, b]\n  skillet.timeout_seconds: 7\n",
        );
        assert_eq!(skill.unwrap().limits.timeout_seconds, 7);
        assert!(parse("description: A.\nmetadata:\n").is_ok());
        let error = parse("description: A.\nmetadata:\n  skillet.title: [a]\n").unwrap_err();
        assert!(error.to_string().contains("line 5"), "{error}");
    }

    #[test]
    fn an_anchor_may_stand_for_a_value() {
        let skill = parse("description: &about A.\nmetadata:\n  skillet.title: *about\n");
        assert_eq!(skill.unwrap().title, "A.");
    }

    #[test]
    fn aliases_that_multiply_end_after_a_thousand_values() {
        // Each line expands to ten times the previous one.
        let line = |depth: u32| {
            let before = vec![format!("*x{}", depth - 1); 10].join(", ");
            format!("x{depth}: &x{depth} [{before}]\n")
        };
        let bomb: String = (1..=8).map(line).collect();
        let error = parse(&format!("description: A.\nx0: &x0 lol\n{bomb}")).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("alias replay limit exceeded"), "{error}");
        assert!(error.ends_with("> 1000"), "{error}");
    }
}
