//! Hooks: rules that require approval for tool calls, log them, or let them pass.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::tool::ToolName;

/// Rules for tool calls: three lists of patterns for tool names. If several lists match, the first one in this order
/// applies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Hooks {
    /// Calls that wait until a person approves them.
    #[schema(value_type = Vec<String>, example = json!(["shell.*"]), max_items = 64)]
    pub confirm: Vec<ToolPattern>,
    /// Calls that are written to the operator's log with their input and output.
    #[schema(value_type = Vec<String>, max_items = 64)]
    pub log: Vec<ToolPattern>,
    /// Calls whose input stays out of the operator's log.
    #[schema(value_type = Vec<String>, max_items = 64)]
    pub silent: Vec<ToolPattern>,
}

/// The rule for a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The call waits for a person's approval.
    Confirm,
    /// The call is written to the operator's log with its input and output.
    Log,
    /// The call runs, and its input stays out of the operator's log.
    Silent,
}

impl Hooks {
    /// The rule for calls of a tool, by its canonical name.
    pub fn rule(&self, tool: &str) -> Rule {
        let has = |list: &[ToolPattern]| list.iter().any(|pattern| pattern.matches(tool));
        if has(&self.confirm) {
            Rule::Confirm
        } else if has(&self.log) {
            Rule::Log
        } else {
            Rule::Silent
        }
    }

    /// Combines these rules with others. The others can only make the rules stricter.
    pub fn and(mut self, other: &Self) -> Self {
        self.confirm.extend_from_slice(&other.confirm);
        self.log.extend_from_slice(&other.log);
        self.silent.extend_from_slice(&other.silent);
        self
    }
}

/// The prefix of MCP tool names: `mcp.<server>.<tool>`.
pub const MCP_PREFIX: &str = "mcp.";

/// A pattern for tool names. `*` stands for any characters and `?` for one character.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolPattern(String);

/// The pattern matches no tool name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the pattern matches no tool name; a pattern is a tool's name in which `*` stands for any characters and `?` for one, \
     e.g. `shell.*`, or `mcp.tracker.*` for the tools of an MCP server"
)]
pub struct NotAToolPattern;

impl ToolPattern {
    /// Parses a pattern. It must match the name of some tool.
    pub fn parse(text: &str) -> Result<Self, NotAToolPattern> {
        let pattern = Self(text.to_owned());
        // Tool names are shorter than this. The limit bounds the time for matching.
        let is_short = text.len() <= 128;
        let is_known = |name: &str| self::matches(text.as_bytes(), name.as_bytes());
        // The tools of an MCP server are unknown until the server runs.
        let is_good =
            text.starts_with(MCP_PREFIX) || ToolName::names().any(|(name, _)| is_known(name));
        if is_short && is_good {
            Ok(pattern)
        } else {
            Err(NotAToolPattern)
        }
    }

    /// Whether the pattern matches the canonical name of the tool or one of its aliases.
    pub fn matches(&self, tool: &str) -> bool {
        let is_like = |name: &str| matches(self.0.as_bytes(), name.as_bytes());
        let mut names = ToolName::names();
        is_like(tool) || names.any(|(name, named)| named.as_str() == tool && is_like(name))
    }
}

/// Whether the pattern matches the whole name. Backtracks to the last `*` only, so the number of steps is at most the
/// product of both lengths.
pub(crate) fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut place) = (0, 0);
    let mut star = None;
    while place < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, place));
                at += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[place] => {
                at += 1;
                place += 1;
            }
            _ => {
                let Some((star_at, taken)) = star else {
                    return false;
                };
                star = Some((star_at, taken + 1));
                (at, place) = (star_at + 1, taken + 1);
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

impl TryFrom<String> for ToolPattern {
    type Error = NotAToolPattern;

    fn try_from(text: String) -> Result<Self, NotAToolPattern> {
        Self::parse(&text)
    }
}

impl From<ToolPattern> for String {
    fn from(pattern: ToolPattern) -> Self {
        pattern.0
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_one_that_some_tool_has() {
        for good in [
            "shell.exec",
            "shell.*",
            "*",
            "file.????",
            "*_bash",
            "set_output_image",
            "**.e*t",
            "mcp.*",
            "mcp.tracker.create_*",
        ] {
            assert!(ToolPattern::parse(good).is_ok(), "{good}");
        }
        let long = "*".repeat(129);
        for bad in [
            "", "shell", "shell.", "Shell.*", "shel.*", "?", "file.?", &long,
        ] {
            assert_eq!(ToolPattern::parse(bad), Err(NotAToolPattern), "{bad}");
        }
    }

    #[test]
    fn a_pattern_matches_the_whole_name() {
        let matched = |text: &str| {
            let pattern = ToolPattern::parse(text).unwrap();
            let tools = ToolName::ALL.into_iter();
            let names = tools
                .map(ToolName::as_str)
                .filter(|tool| pattern.matches(tool));
            names.collect::<Vec<_>>()
        };
        assert_eq!(
            matched("file.*"),
            ["file.read", "file.write", "file.edit", "file.list"]
        );
        assert_eq!(matched("*exec*"), ["shell.exec"]);
        assert_eq!(matched("execute_bash"), ["shell.exec"]);
        assert_eq!(matched("set_output_*"), ["set_output"]);
        assert_eq!(matched("*.?e?d"), ["file.read"]);
        assert_eq!(matched("*").len(), ToolName::ALL.len());
    }

    #[test]
    fn the_stricter_rule_wins() {
        let hooks = |confirm: &str, log: &str, silent: &str| {
            let list = |words: &str| {
                let words = words.split_whitespace();
                words.map(|it| ToolPattern::parse(it).unwrap()).collect()
            };
            Hooks {
                confirm: list(confirm),
                log: list(log),
                silent: list(silent),
            }
        };
        let agent = hooks("shell.*", "file.*", "file.read web.fetch");
        assert_eq!(agent.rule("shell.exec"), Rule::Confirm);
        assert_eq!(agent.rule("file.read"), Rule::Log);
        assert_eq!(agent.rule("web.fetch"), Rule::Silent);
        assert_eq!(agent.rule("mcp.tracker.close"), Rule::Silent);
        let both = agent.and(&hooks("mcp.*", "web.fetch", "shell.* *"));
        assert_eq!(both.rule("shell.exec"), Rule::Confirm);
        assert_eq!(both.rule("web.fetch"), Rule::Log);
        assert_eq!(both.rule("mcp.tracker.close"), Rule::Confirm);
    }
}
