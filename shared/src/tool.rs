//! The names of the built-in tools.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A built-in tool for a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ToolName {
    /// Runs a command.
    ShellExec,
    /// Reads lines of a file.
    FileRead,
    /// Writes a file.
    FileWrite,
    /// Replaces text in a file.
    FileEdit,
    /// Lists files.
    FileList,
    /// Fetches a web page.
    WebFetch,
    /// Sends a request to an API.
    HttpRequest,
    /// Queries a SQLite file.
    SqlQuery,
    /// Reads a table of a Supabase project.
    ReadTable,
    /// Works on a page in a browser in several steps.
    Browse,
    /// Reads linked pages of a site.
    Crawl,
    /// Opens a page in a browser.
    Browser,
    /// Takes a screenshot of a page.
    TakeScreenshot,
    /// Finds elements in a page.
    DomSearch,
    /// Extracts links, tables, text or metadata from a page.
    DomExtract,
    /// Sends an email.
    SendEmail,
    /// Reads emails.
    ReadEmail,
    /// Shows a file to the model.
    LookAt,
    /// Makes a file an output of the job.
    SetOutput,
}

/// The tool does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no tool `{name}`; there are: {}", ToolName::list())]
pub struct UnknownTool {
    name: String,
}

impl ToolName {
    /// All tools.
    pub const ALL: [Self; 19] = [
        Self::ShellExec,
        Self::FileRead,
        Self::FileWrite,
        Self::FileEdit,
        Self::FileList,
        Self::WebFetch,
        Self::HttpRequest,
        Self::SqlQuery,
        Self::ReadTable,
        Self::Browse,
        Self::Crawl,
        Self::Browser,
        Self::TakeScreenshot,
        Self::DomSearch,
        Self::DomExtract,
        Self::SendEmail,
        Self::ReadEmail,
        Self::LookAt,
        Self::SetOutput,
    ];

    /// Aliases that skills can use.
    const ALIASES: [(&str, Self); 6] = [
        ("execute_bash", Self::ShellExec),
        ("set_output_image", Self::SetOutput),
        ("set_output_audio", Self::SetOutput),
        ("set_output_video", Self::SetOutput),
        ("set_output_document", Self::SetOutput),
        ("set_output_html", Self::SetOutput),
    ];

    /// The tool names in the examples of the Agent Skills format. Skills for other agents use these names.
    const PORTABLE: [(&str, Self); 9] = [
        ("Bash", Self::ShellExec),
        ("Read", Self::FileRead),
        ("Write", Self::FileWrite),
        ("Edit", Self::FileEdit),
        ("MultiEdit", Self::FileEdit),
        ("Glob", Self::FileList),
        ("LS", Self::FileList),
        ("Grep", Self::FileRead),
        ("WebFetch", Self::WebFetch),
    ];

    /// General tools for work in a workspace.
    pub const GENERAL: [Self; 7] = [
        Self::ShellExec,
        Self::FileRead,
        Self::FileWrite,
        Self::FileEdit,
        Self::FileList,
        Self::LookAt,
        Self::WebFetch,
    ];

    /// The canonical name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ShellExec => "shell.exec",
            Self::FileRead => "file.read",
            Self::FileWrite => "file.write",
            Self::FileEdit => "file.edit",
            Self::FileList => "file.list",
            Self::WebFetch => "web.fetch",
            Self::HttpRequest => "http_request",
            Self::SqlQuery => "sql_query",
            Self::ReadTable => "read_table",
            Self::Browse => "browse",
            Self::Crawl => "crawl",
            Self::Browser => "browser",
            Self::TakeScreenshot => "take_screenshot",
            Self::DomSearch => "dom_search",
            Self::DomExtract => "dom_extract",
            Self::SendEmail => "send_email",
            Self::ReadEmail => "read_email",
            Self::LookAt => "look_at",
            Self::SetOutput => "set_output",
        }
    }

    /// Whether a call that may have run already can be repeated. The same call on the same files has the same effect.
    pub fn is_repeatable(self) -> bool {
        matches!(self, Self::SetOutput | Self::LookAt)
    }

    /// Parses a canonical name or an alias.
    pub fn parse(name: &str) -> Result<Self, UnknownTool> {
        let canonical = Self::ALL.into_iter().find(|tool| tool.as_str() == name);
        let found = canonical.or_else(|| Self::alias(name));
        found.ok_or_else(|| UnknownTool {
            name: name.to_owned(),
        })
    }

    /// Finds the tool with this alias.
    pub fn alias(name: &str) -> Option<Self> {
        let mut aliases = Self::ALIASES.into_iter().chain(Self::PORTABLE);
        aliases.find_map(|(alias, tool)| (alias == name).then_some(tool))
    }

    /// Whether the name is a tool name in the examples of the Agent Skills format.
    pub fn is_portable(name: &str) -> bool {
        Self::PORTABLE.iter().any(|(portable, _)| *portable == name)
    }

    /// All canonical names and aliases with their tools.
    pub(crate) fn names() -> impl Iterator<Item = (&'static str, Self)> {
        let canonical = Self::ALL.into_iter().map(|tool| (tool.as_str(), tool));
        canonical.chain(Self::ALIASES).chain(Self::PORTABLE)
    }

    fn list() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }
}

impl TryFrom<String> for ToolName {
    type Error = UnknownTool;

    fn try_from(name: String) -> Result<Self, UnknownTool> {
        Self::parse(&name)
    }
}

impl From<ToolName> for String {
    fn from(tool: ToolName) -> Self {
        tool.as_str().to_owned()
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_tool_has_a_name_of_its_own_and_is_found_by_it() {
        let names: HashSet<_> = ToolName::ALL.map(ToolName::as_str).into();
        assert_eq!(names.len(), ToolName::ALL.len());
        for tool in ToolName::ALL {
            assert_eq!(ToolName::parse(tool.as_str()), Ok(tool));
        }
        for (alias, tool) in ToolName::ALIASES.into_iter().chain(ToolName::PORTABLE) {
            assert_eq!(ToolName::parse(alias), Ok(tool));
            assert!(!names.contains(alias), "{alias}");
        }
        let error = ToolName::parse("run").unwrap_err().to_string();
        assert!(
            error.starts_with("there is no tool `run`; there are: shell.exec, file.read,"),
            "{error}"
        );
    }
}
