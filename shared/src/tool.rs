//! The tools, by name.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::asset::OutputKind;

/// A tool that a model can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ToolName {
    /// Runs a command, for skills.
    ExecuteBash,
    /// Runs a command, for agents.
    ShellExec,
    /// Reads lines of a file.
    FileRead,
    /// Writes a file.
    FileWrite,
    /// Replaces text in a file.
    FileEdit,
    /// Lists files.
    FileList,
    /// Reads a page of the web.
    WebFetch,
    /// Sends a request to an API.
    HttpRequest,
    /// Asks a SQLite file.
    SqlQuery,
    /// Reads a table of a Supabase project.
    ReadTable,
    /// Opens a page in a browser.
    Browser,
    /// Makes a picture of a page.
    TakeScreenshot,
    /// Finds elements of a page.
    DomSearch,
    /// Extracts links, tables, text or metadata of a page.
    DomExtract,
    /// Sends a mail.
    SendEmail,
    /// Reads mails.
    ReadEmail,
    /// Makes a file an output of the job.
    SetOutput(OutputKind),
}

/// There is no tool of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no tool `{name}`; there are: {}", ToolName::list())]
pub struct UnknownTool {
    name: String,
}

impl ToolName {
    /// All of them.
    pub const ALL: [Self; 21] = [
        Self::ExecuteBash,
        Self::ShellExec,
        Self::FileRead,
        Self::FileWrite,
        Self::FileEdit,
        Self::FileList,
        Self::WebFetch,
        Self::HttpRequest,
        Self::SqlQuery,
        Self::ReadTable,
        Self::Browser,
        Self::TakeScreenshot,
        Self::DomSearch,
        Self::DomExtract,
        Self::SendEmail,
        Self::ReadEmail,
        Self::SetOutput(OutputKind::Image),
        Self::SetOutput(OutputKind::Audio),
        Self::SetOutput(OutputKind::Video),
        Self::SetOutput(OutputKind::Document),
        Self::SetOutput(OutputKind::Html),
    ];

    /// Those that serve any work in a workspace.
    pub const GENERAL: [Self; 6] = [
        Self::ShellExec,
        Self::FileRead,
        Self::FileWrite,
        Self::FileEdit,
        Self::FileList,
        Self::WebFetch,
    ];

    /// Its canonical name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ExecuteBash => "execute_bash",
            Self::ShellExec => "shell.exec",
            Self::FileRead => "file.read",
            Self::FileWrite => "file.write",
            Self::FileEdit => "file.edit",
            Self::FileList => "file.list",
            Self::WebFetch => "web.fetch",
            Self::HttpRequest => "http_request",
            Self::SqlQuery => "sql_query",
            Self::ReadTable => "read_table",
            Self::Browser => "browser",
            Self::TakeScreenshot => "take_screenshot",
            Self::DomSearch => "dom_search",
            Self::DomExtract => "dom_extract",
            Self::SendEmail => "send_email",
            Self::ReadEmail => "read_email",
            Self::SetOutput(OutputKind::Image) => "set_output_image",
            Self::SetOutput(OutputKind::Audio) => "set_output_audio",
            Self::SetOutput(OutputKind::Video) => "set_output_video",
            Self::SetOutput(OutputKind::Document) => "set_output_document",
            Self::SetOutput(OutputKind::Html) => "set_output_html",
        }
    }

    /// Whether a call that may have run can be made again: on the same files it does the same.
    pub fn is_repeatable(self) -> bool {
        matches!(self, Self::SetOutput(_))
    }

    /// Reads a canonical name.
    pub fn parse(name: &str) -> Result<Self, UnknownTool> {
        let found = Self::ALL.into_iter().find(|tool| tool.as_str() == name);
        found.ok_or_else(|| UnknownTool {
            name: name.to_owned(),
        })
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
        let error = ToolName::parse("Bash").unwrap_err().to_string();
        assert!(
            error.starts_with("there is no tool `Bash`; there are: execute_bash, shell.exec,"),
            "{error}"
        );
    }
}
