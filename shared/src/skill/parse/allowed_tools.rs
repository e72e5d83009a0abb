//! The list `allowed-tools` of a skill, also in the form of skills that were written for other agents.

use super::{SkillError, field};
use crate::tool::ToolName;

/// The tools of a skill.
pub(super) struct AllowedTools {
    pub(super) tools: Vec<ToolName>,
    /// Names that no tool has.
    pub(super) unknown: Vec<String>,
    /// Whether the list is missing, or has names of the format's examples.
    pub(super) is_portable: bool,
}

/// Reads the list; names are separated by spaces or commas. In the format it says which calls need no approval, so a
/// skill without a list gets the general tools, and one whose names are those of the format's examples gets, too, what
/// the format has no names for: a look at files, and outputs.
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
            // Several aliases may name one tool.
            true if ToolName::alias(name).is_some() => {}
            true => return Err(field("allowed-tools", &format!("names {tool} twice"))),
        }
        Ok(())
    }
}

/// The general tools without the network, and outputs.
fn general() -> Vec<ToolName> {
    let general = ToolName::GENERAL.into_iter();
    let local = general.filter(|tool| *tool != ToolName::WebFetch);
    local.chain([ToolName::SetOutput]).collect()
}

/// The words of a list. Those in parentheses belong to the word before: `Bash(git add:*)`.
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

/// `Bash` of `Bash(git:*)`: the sandbox confines all commands alike.
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
