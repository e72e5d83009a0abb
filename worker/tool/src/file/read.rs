//! The tool `file.read`.

use futures_util::future::BoxFuture;
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use shared::tool::ToolName;

use super::explain;
use super::text::{Lines, Wanted, binary_type};
use crate::call::{Call, Done, Tool, ToolError, blocking};
use worker_model::ToolSpec;

/// The default number of lines.
const LINES: u64 = 2000;
/// The number of bytes that are reserved for information about the lines.
const ABOUT_BYTES: usize = 400;

/// Reads lines of a file.
pub(crate) struct FileRead;

#[derive(Deserialize, JsonSchema)]
#[serde(rename = "Arguments", deny_unknown_fields)]
struct ReadArguments {
    /// The file, relative to the workspace.
    path: String,
    /// The first line to read; lines are counted from 0. Default: 0.
    offset: Option<u64>,
    /// How many lines to read. Default: 2000.
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

impl Tool for FileRead {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: ToolName::FileRead.as_str().into(),
            description: "Reads lines of a text file of the workspace. They come as they are, without line numbers, so \
                          that pieces of them can be copied. If there is more, or a line is too long to be shown, \
                          a last line in brackets says so, and with which offset to go on. A file that is no text is \
                          refused with its media type and size."
                .to_owned(),
            input_schema: schema_for!(ReadArguments).into(),
        }
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Done, ToolError>> {
        Box::pin(async move {
            let arguments: ReadArguments = call.arguments()?;
            let workspace = call.context.workspace.clone();
            let wanted = Wanted {
                offset: arguments.offset.unwrap_or(0),
                lines: arguments.limit.unwrap_or(LINES),
                bytes: call.shown_bytes().saturating_sub(ABOUT_BYTES),
            };
            let path = arguments.path;
            let read = blocking(move || {
                let (mut file, size) = workspace
                    .open_file(&path)
                    .map_err(|error| explain(&path, "read", &error))?;
                let failed = |error: std::io::Error| explain(&path, "read", &error.into());
                if let Some(kind) = binary_type(&mut file, &path).map_err(failed)? {
                    let text = format!("`{path}` is not text: it is {kind}, {size} bytes");
                    return Err(ToolError::Reply(text));
                }
                let lines = Lines::read(file, &wanted).map_err(failed)?;
                tell(&path, lines, &wanted)
            });
            read.await?
        })
    }
}

/// Returns the lines, with notes for the model.
fn tell(path: &str, lines: Lines, wanted: &Wanted) -> Result<Done, ToolError> {
    let Lines {
        mut text,
        count,
        total,
        has_cut,
        has_replaced,
    } = lines;
    if count == 0 && total != Some(0) {
        let text = match total {
            Some(total) => format!("`{path}` has no line {}: it has {total}", wanted.offset),
            None => format!(
                "line {} of `{path}` is too far into the file: read it with a shell command",
                wanted.offset
            ),
        };
        return Err(ToolError::Reply(text));
    }
    let end = wanted.offset + count;
    let mut notes = Vec::new();
    match total {
        Some(0) => notes.push("the file is empty".to_owned()),
        Some(total) if wanted.offset > 0 || end < total => {
            notes.push(format!("lines {} to {} of {total}", wanted.offset, end - 1));
        }
        Some(_) => {}
        None => notes.push(format!(
            "lines {} to {} of a very large file",
            wanted.offset,
            end - 1
        )),
    }
    if total.is_none_or(|total| end < total) {
        notes.push(format!("go on with offset {end}"));
    }
    if has_cut {
        notes
            .push("the rest of long lines can be read with shell commands, such as cut".to_owned());
    }
    if has_replaced {
        notes.push("\u{fffd} stands for bytes that are not UTF-8".to_owned());
    }
    if notes.is_empty() {
        return Ok(Done::text(text));
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text += &format!("[{}]", notes.join("; "));
    Ok(Done {
        truncated: has_cut || total.is_none_or(|total| end < total),
        ..Done::text(text)
    })
}
