//! Tool names on the wire. Providers accept `^[a-zA-Z0-9_-]{1,64}$`, but canonical names contain dots.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use crate::ToolSpec;

/// The maximum length of a name that every provider accepts.
const MAX_CHARS: usize = 64;

/// The names of one request's tools, in both directions. No two tools share a wire name.
pub(super) struct ToolNames {
    /// The canonical name and the wire name of each tool.
    pairs: Vec<(Cow<'static, str>, String)>,
}

impl ToolNames {
    /// Gives each tool a wire name: its own name if that is safe, or else one derived from it.
    pub(super) fn of(tools: &[Arc<ToolSpec>]) -> Self {
        // Safe names come first, so that no derived name can take one of them.
        let mut taken: HashSet<String> = tools
            .iter()
            .filter(|tool| is_safe(&tool.name))
            .map(|tool| tool.name.to_string())
            .collect();
        let pairs = tools.iter().map(|tool| {
            let wire = if is_safe(&tool.name) {
                tool.name.to_string()
            } else {
                free(&safe(&tool.name), &taken)
            };
            taken.insert(wire.clone());
            (tool.name.clone(), wire)
        });
        Self {
            pairs: pairs.collect(),
        }
    }

    /// Returns the name to send. A name that the model invented has no tool and is only made safe.
    pub(super) fn to_wire(&self, name: &str) -> String {
        let pair = self.pairs.iter().find(|(canonical, _)| *canonical == name);
        pair.map_or_else(|| safe(name), |(_, wire)| wire.clone())
    }

    /// Returns the canonical name of a name that the model wrote. Unknown names are returned unchanged.
    pub(super) fn to_canonical(&self, name: &str) -> String {
        let pair = self.pairs.iter().find(|(_, wire)| wire == name);
        pair.map_or(name, |(canonical, _)| canonical.as_ref())
            .to_owned()
    }
}

fn is_safe_char(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_' || char == '-'
}

fn is_safe(name: &str) -> bool {
    (1..=MAX_CHARS).contains(&name.len()) && name.chars().all(is_safe_char)
}

fn safe(name: &str) -> String {
    let chars = name.chars().take(MAX_CHARS);
    let safe: String = chars
        .map(|char| if is_safe_char(char) { char } else { '_' })
        .collect();
    if safe.is_empty() {
        "unnamed".to_owned()
    } else {
        safe
    }
}

fn free(name: &str, taken: &HashSet<String>) -> String {
    let mut candidate = name.to_owned();
    let mut number = 2;
    while taken.contains(&candidate) {
        let suffix = format!("_{number}");
        let kept = name.len().min(MAX_CHARS - suffix.len());
        candidate = format!("{}{suffix}", &name[..kept]);
        number += 1;
    }
    candidate
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str =
        "tool.with.a.name.that.is.much.longer.than.sixty.four.characters.and.ends.in.a";
    const LONGER: &str =
        "tool.with.a.name.that.is.much.longer.than.sixty.four.characters.and.ends.in.b";

    fn names_of(names: &[&'static str]) -> ToolNames {
        let spec = |name: &&'static str| {
            Arc::new(ToolSpec {
                name: (*name).into(),
                description: String::new(),
                input_schema: serde_json::Value::Null,
            })
        };
        ToolNames::of(&names.iter().map(spec).collect::<Vec<_>>())
    }

    #[test]
    fn every_tool_has_a_safe_name_of_its_own_and_comes_back() {
        let tools = [
            "a.b",
            "a/b",
            "a_b",
            "a_b_2",
            "execute_bash",
            "größe",
            LONG,
            LONGER,
            "",
            ".",
        ];
        let names = names_of(&tools);
        let wires: HashSet<String> = tools.iter().map(|name| names.to_wire(name)).collect();
        assert_eq!(wires.len(), tools.len());
        assert!(wires.iter().all(|wire| is_safe(wire)), "{wires:?}");
        for name in tools {
            assert_eq!(names.to_canonical(&names.to_wire(name)), name);
        }
        assert_eq!(names.to_wire("a_b"), "a_b", "a safe name stays");
    }

    #[test]
    fn names_of_no_tool_pass_through() {
        let names = names_of(&["files.read"]);
        assert_eq!(names.to_canonical("files_read"), "files.read");
        assert_eq!(names.to_canonical("files.read"), "files.read");
        assert_eq!(names.to_canonical("rm -rf"), "rm -rf");
        assert_eq!(names.to_wire("rm -rf"), "rm_-rf");
    }
}
