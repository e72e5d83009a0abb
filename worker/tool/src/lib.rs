//! Tools that a model may call: built-in tools, and those of MCP servers.

mod browser;
mod call;
mod command;
mod context;
mod database;
mod exit_report;
mod file;
mod look;
mod mail;
pub mod mcp;
mod program;
mod python;
mod set_output;
mod shell;
mod side_program;
mod submit_result;
mod web;

use shared::secret::SecretNeed;
use shared::tool::ToolName;

pub use browser::KeptBrowser;
pub use call::{Call, Done, Tool, ToolError, blocking};
pub use context::{EventSink, LeaseLost, PROGRAMS_FOLDER, SKILL_FOLDER, ToolContext};
pub use submit_result::SubmitResult;

use browser::BrowserTool;
use database::{ReadTable, SqlQuery};
use file::{FileEdit, FileList, FileRead, FileWrite};
use look::LookAt;
use mail::{ReadEmail, SendEmail};
use set_output::SetOutput;
use shell::ShellExec;
use web::{HttpRequest, WebFetch};

/// Returns the tool with this name, for a job that may send these secrets.
pub fn open(name: ToolName, secrets: &[SecretNeed]) -> Box<dyn Tool> {
    match name {
        ToolName::ShellExec => Box::new(ShellExec),
        ToolName::FileRead => Box::new(FileRead),
        ToolName::FileWrite => Box::new(FileWrite),
        ToolName::FileEdit => Box::new(FileEdit),
        ToolName::FileList => Box::new(FileList),
        ToolName::WebFetch => Box::new(WebFetch),
        ToolName::HttpRequest => Box::new(HttpRequest::new(secrets)),
        ToolName::SqlQuery => Box::new(SqlQuery),
        ToolName::ReadTable => Box::new(ReadTable),
        ToolName::Browse => Box::new(BrowserTool::Browse),
        ToolName::Crawl => Box::new(BrowserTool::Crawl),
        ToolName::Browser => Box::new(BrowserTool::Open),
        ToolName::TakeScreenshot => Box::new(BrowserTool::Screenshot),
        ToolName::DomSearch => Box::new(BrowserTool::Search),
        ToolName::DomExtract => Box::new(BrowserTool::Extract),
        ToolName::SendEmail => Box::new(SendEmail),
        ToolName::ReadEmail => Box::new(ReadEmail),
        ToolName::LookAt => Box::new(LookAt),
        ToolName::SetOutput => Box::new(SetOutput),
    }
}
