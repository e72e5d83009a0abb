//! The tool `file.edit`.

use std::io::Read;

use futures_util::future::BoxFuture;
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use shared::tool::ToolName;

use super::explain;
use super::nearest::not_found;
use crate::call::{Call, Done, Tool, ToolError, blocking};
use worker_model::ToolSpec;
use worker_workspace::Workspace;

/// The maximum size of a file, before and after an edit.
const MAX_BYTES: u64 = 5 * 1024 * 1024;
/// The maximum number of places that are named when a text occurs several times.
const MAX_PLACES: usize = 10;

/// Replaces text in a file.
pub(crate) struct FileEdit;

#[derive(Deserialize, JsonSchema)]
#[serde(rename = "Arguments", deny_unknown_fields)]
struct EditArguments {
    /// The file, relative to the workspace.
    path: String,
    /// The text to replace, exactly as it is in the file, spaces and line ends included.
    old_string: String,
    /// What to put in its place.
    new_string: String,
    /// Whether to replace every occurrence. Otherwise there must be exactly one. Default: false.
    #[serde(default)]
    replace_all: bool,
}

impl Tool for FileEdit {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: ToolName::FileEdit.as_str().into(),
            description: "Replaces text in a UTF-8 file of the workspace, at most 5 MiB large. Both texts are literal: \
                          no patterns, no escapes. If the text is not there, or is there more than once without \
                          replace_all, nothing changes and the error says what to do."
                .to_owned(),
            input_schema: schema_for!(EditArguments).into(),
        }
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Done, ToolError>> {
        Box::pin(async move {
            let arguments: EditArguments = call.arguments()?;
            let workspace = call.context.workspace.clone();
            blocking(move || edit(&workspace, &arguments)).await?
        })
    }
}

fn edit(workspace: &Workspace, arguments: &EditArguments) -> Result<Done, ToolError> {
    let path = &arguments.path;
    let text = read(workspace, path)?;
    let (edited, places) = replace(&text, arguments).map_err(ToolError::Reply)?;
    if edited.len() as u64 > MAX_BYTES {
        let text = format!(
            "`{path}` would have {} bytes; the limit is {MAX_BYTES}",
            edited.len()
        );
        return Err(ToolError::Reply(text));
    }
    workspace
        .replace_file(path, edited.as_bytes())
        .map_err(|error| explain(path, "written", &error))?;
    Ok(Done::text(format!(
        "`{path}` is changed at {}",
        lines_of(&text, &places)
    )))
}

fn read(workspace: &Workspace, path: &str) -> Result<String, ToolError> {
    let opened = workspace.open_file(path);
    let (file, size) = opened.map_err(|error| explain(path, "edited", &error))?;
    let too_large = || {
        let text = format!("`{path}` has {size} bytes; the limit for editing is {MAX_BYTES}");
        ToolError::Reply(text + ". Use a shell command, such as sed")
    };
    if size > MAX_BYTES {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| explain(path, "edited", &error.into()))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(too_large());
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        ToolError::Reply(format!(
            "`{path}` is not UTF-8 (at byte {valid}), so it cannot be edited: convert it first, for example with iconv"
        ))
    })
}

/// Returns the new text, and the positions in the old text that changed.
fn replace(text: &str, arguments: &EditArguments) -> Result<(String, Vec<usize>), String> {
    let EditArguments {
        path,
        old_string: old,
        new_string: new,
        replace_all,
    } = arguments;
    if old.is_empty() {
        return Err("old_string is empty: to write a whole file use file.write".to_owned());
    }
    if old == new {
        return Err("old_string and new_string are the same: nothing would change".to_owned());
    }
    let places: Vec<usize> = text.match_indices(old).map(|(place, _)| place).collect();
    match places.len() {
        0 => Err(not_found(path, text, old)),
        1 => Ok((text.replacen(old, new, 1), places)),
        _ if *replace_all => Ok((text.replace(old, new), places)),
        count => Err(format!(
            "old_string is {count} times in `{path}`, at {}: give more of the text around the one that you mean, or set replace_all",
            lines_of(text, &places)
        )),
    }
}

/// Returns the lines of these positions for display, counted from 0.
fn lines_of(text: &str, places: &[usize]) -> String {
    let (mut line, mut seen) = (0, 0);
    let mut numbers = Vec::new();
    for &place in places.iter().take(MAX_PLACES) {
        line += text[seen..place].matches('\n').count();
        seen = place;
        numbers.push(line.to_string());
    }
    let more = places.len() - numbers.len();
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let noun = if places.len() == 1 { "line" } else { "lines" };
    format!("{noun} {}{more} (counted from 0)", numbers.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(text: &str, old: &str, new: &str, replace_all: bool) -> Result<String, String> {
        let arguments = EditArguments {
            path: "a.txt".to_owned(),
            old_string: old.to_owned(),
            new_string: new.to_owned(),
            replace_all,
        };
        replace(text, &arguments).map(|(text, _)| text)
    }

    #[test]
    fn texts_are_literal_and_one_occurrence_is_enough() {
        assert_eq!(
            replaced("a.b acb", "a.b", "$1\\n", false).unwrap(),
            r"$1\n acb"
        );
        assert_eq!(replaced("é\r\nü", "é\r\n", "", false).unwrap(), "ü");
        assert_eq!(replaced("aXbX", "X", "YX", true).unwrap(), "aYXbYX");
        assert_eq!(replaced("aaa", "aa", "b", true).unwrap(), "ba");
    }

    #[test]
    fn what_cannot_be_done_is_said_with_the_remedy() {
        let error = replaced("x\nx\nyx", "x", "z", false).unwrap_err();
        assert_eq!(
            error,
            "old_string is 3 times in `a.txt`, at lines 0, 1, 2 (counted from 0): give more of the text around the one that you mean, or set replace_all"
        );
        let error = replaced(&"x\n".repeat(30), "x", "z", false).unwrap_err();
        assert!(error.contains("7, 8, 9 and 20 more"), "{error}");
        assert!(
            replaced("x", "", "z", false)
                .unwrap_err()
                .contains("file.write")
        );
        assert!(
            replaced("x", "x", "x", false)
                .unwrap_err()
                .contains("the same")
        );
        assert!(
            replaced("x", "y", "z", true)
                .unwrap_err()
                .contains("is not in `a.txt`")
        );
    }
}
