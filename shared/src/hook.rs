//! Hooks: rules that make tool calls need approval, write a log line, or pass.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::tool::ToolName;

/// Three lists of patterns over the names of tools. Where several match, the first list wins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Hooks {
    /// Calls that wait until a person has allowed them.
    #[schema(value_type = Vec<String>, example = json!(["shell.*"]), max_items = 64)]
    pub confirm: Vec<ToolPattern>,
    /// Calls that are written down with all that goes in and comes out.
    #[schema(value_type = Vec<String>, max_items = 64)]
    pub log: Vec<ToolPattern>,
    /// Calls whose input stays out of the operator's log.
    #[schema(value_type = Vec<String>, max_items = 64)]
    pub silent: Vec<ToolPattern>,
}

/// The rules that apply to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// It waits for a person.
    Confirm,
    /// It is written down with all that goes in and comes out.
    Log,
    /// It passes, and its input stays out of the operator's log.
    Silent,
}

impl Hooks {
    /// The rule for calls of the tool with that canonical name.
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

    /// These rules and others, which can only make them stricter.
    pub fn and(mut self, other: &Self) -> Self {
        self.confirm.extend_from_slice(&other.confirm);
        self.log.extend_from_slice(&other.log);
        self.silent.extend_from_slice(&other.silent);
        self
    }
}

/// The prefix of the names of MCP tools: `mcp.<server>.<tool>`.
pub const MCP_PREFIX: &str = "mcp.";

/// A name of a tool in which `*` stands for any characters and `?` for one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolPattern(String);

/// No tool has a name like that.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no tool has a name like that; a pattern is a tool's name in which `*` stands for any characters and `?` for one, \
     e.g. `shell.*`, or `mcp.tracker.*` for what an MCP server brings"
)]
pub struct NotAToolPattern;

impl ToolPattern {
    /// The pattern, if it is one that some tool's name matches.
    pub fn parse(text: &str) -> Result<Self, NotAToolPattern> {
        let pattern = Self(text.to_owned());
        // No longer than any name could need: what matches takes time with the length.
        let is_short = text.len() <= 128;
        let is_known = |name: &str| self::matches(text.as_bytes(), name.as_bytes());
        // Which tools an MCP server has, nobody knows before it runs.
        let is_good =
            text.starts_with(MCP_PREFIX) || ToolName::names().any(|(name, _)| is_known(name));
        if is_short && is_good {
            Ok(pattern)
        } else {
            Err(NotAToolPattern)
        }
    }

    /// Whether the tool with that canonical name has a name like that: this one or an alias.
    pub fn matches(&self, tool: &str) -> bool {
        let is_like = |name: &str| matches(self.0.as_bytes(), name.as_bytes());
        let mut names = ToolName::names();
        is_like(tool) || names.any(|(name, named)| named.as_str() == tool && is_like(name))
    }
}

/// Whether a name is like the pattern. Takes at most the product of both lengths in steps: only the last `*` is ever
/// tried again.
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
