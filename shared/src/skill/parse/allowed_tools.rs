//! The `allowed-tools` list of a skill, including lists that were written for other agents.

use super::{SkillError, field};
use crate::tool::ToolName;

/// The parsed list of tools.
pub(super) struct AllowedTools {
    pub(super) tools: Vec<ToolName>,
    /// Names that match no tool.
    pub(super) unknown: Vec<String>,
    /// Whether the list is missing, or uses tool names of the format's examples.
    pub(super) is_portable: bool,
}

/// Parses a list that is separated by spaces or commas. In the format, the list only says which calls need no
/// approval. So a skill without a list gets the general tools. A list with names of the format's examples also gets
/// tools for which the format has no names: viewing files, and outputs.
pub(super) fn allowed_tools(list: Option<&str>) -> Result<AllowedTools, SkillError> {
    let Some(list) = list else {
        return Ok(AllowedTools {
            tools: general(),
            unknown: Vec::new(),
            is_portable: true,
        });
    };
    let mut found = AllowedTools {
        tools: Vec::new(),
        unknown: Vec::new(),
        is_portable: false,
    };
    for word in words(list) {
        let name = without_pattern(word);
        match ToolName::parse(name) {
            Ok(tool) => found.add(name, tool)?,
            Err(_) => found.unknown.push(word.to_owned()),
        }
    }
    if found.is_portable {
        for tool in [ToolName::LookAt, ToolName::SetOutput] {
            if !found.tools.contains(&tool) {
                found.tools.push(tool);
            }
        }
    }
    Ok(found)
}

impl AllowedTools {
    fn add(&mut self, name: &str, tool: ToolName) -> Result<(), SkillError> {
        self.is_portable |= ToolName::is_portable(name);
        match self.tools.contains(&tool) {
            false => self.tools.push(tool),
            // Several aliases can name the same tool.
            true if ToolName::alias(name).is_some() => {}
            true => return Err(field("allowed-tools", &format!("names {tool} twice"))),
        }
        Ok(())
    }
}

/// The general tools except network access, plus outputs.
fn general() -> Vec<ToolName> {
    let general = ToolName::GENERAL.into_iter();
    let local = general.filter(|tool| *tool != ToolName::WebFetch);
    local.chain([ToolName::SetOutput]).collect()
}

/// Splits a list into words. Parentheses belong to the word before them: `Bash(git add:*)`.
fn words(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_u32;
    let separated = list.split(move |char: char| {
        match char {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (char.is_whitespace() || char == ',')
    });
    separated.filter(|word| !word.is_empty())
}

/// Removes the pattern: `Bash(git:*)` becomes `Bash`. The sandbox restricts all commands equally.
fn without_pattern(word: &str) -> &str {
    match word.split_once('(') {
        Some((name, rest)) if rest.ends_with(')') => name,
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::ToolName::*;

    fn tools(list: &str) -> Vec<ToolName> {
        allowed_tools(Some(list)).unwrap().tools
    }

    #[test]
    fn our_names_give_these_tools_and_no_other() {
        assert_eq!(tools("shell.exec  file.read"), [ShellExec, FileRead]);
        assert_eq!(
            tools("shell.exec, execute_bash set_output_image"),
            [ShellExec, SetOutput]
        );
        assert_eq!(tools(""), []);
        let error = allowed_tools(Some("file.read shell.exec file.read"));
        let error = error.err().unwrap().to_string();
        assert_eq!(error, "`allowed-tools`: names file.read twice");
    }

    #[test]
    fn without_a_list_there_are_the_general_tools_and_no_network() {
        let found = allowed_tools(None).unwrap();
        let expected = [
            ShellExec, FileRead, FileWrite, FileEdit, FileList, LookAt, SetOutput,
        ];
        assert_eq!(found.tools, expected);
        assert!(found.is_portable);
    }

    #[test]
    fn the_names_of_the_format_are_aliases() {
        let found = allowed_tools(Some(
            "Bash(git add:*, git commit:*) Read,Write, Edit Glob Grep",
        ));
        let found = found.unwrap();
        let expected = [
            ShellExec, FileRead, FileWrite, FileEdit, FileList, LookAt, SetOutput,
        ];
        assert_eq!(found.tools, expected);
        assert_eq!(found.unknown, [""; 0]);
        assert_eq!(
            tools("WebFetch(domain:example.com)"),
            [WebFetch, LookAt, SetOutput]
        );
    }

    #[test]
    fn unknown_names_are_left_out() {
        let found = allowed_tools(Some("Read TodoWrite mcp__tracker__close(x)")).unwrap();
        assert_eq!(found.tools, [FileRead, LookAt, SetOutput]);
        assert_eq!(found.unknown, ["TodoWrite", "mcp__tracker__close(x)"]);
        let found = allowed_tools(Some("shell.exec Bash(")).unwrap();
        assert_eq!(
            (found.tools, found.unknown),
            (vec![ShellExec], vec!["Bash(".to_owned()])
        );
    }
}
