//! The tool `file.list`.

use futures_util::future::BoxFuture;
use globset::{GlobBuilder, GlobMatcher};
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use shared::tool::ToolName;

use super::explain;
use crate::call::{Call, Done, Tool, ToolError, blocking};
use worker_model::ToolSpec;
use worker_workspace::{AccessError, EntryKind, Workspace};

/// The maximum number of names that are shown.
const MAX_SHOWN: usize = 1000;
/// The maximum number of entries that are read.
const MAX_SEEN: usize = 100_000;
/// The maximum length of a pattern.
const MAX_PATTERN_BYTES: usize = 1000;

/// Lists files.
pub(crate) struct FileList;

#[derive(Deserialize, JsonSchema)]
#[serde(rename = "Arguments", deny_unknown_fields)]
struct ListArguments {
    /// The directory, relative to the workspace. Default: the workspace itself.
    path: Option<String>,
    /// A glob for paths below that directory: `*` and `?` stay within a name, `**` spans directories, and there
    /// are `[a-z]` and `{png,jpg}`. Without it, only the directory itself is listed.
    pattern: Option<String>,
}

impl Tool for FileList {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: ToolName::FileList.as_str().into(),
            description: "Lists a directory of the workspace, or all below it that a glob matches, such as `*.csv` or \
                          `**/*.rs`. One path a line, relative to that directory and sorted; hidden files are shown, \
                          directories end in /, links show where they lead and are not followed. At most 1000 paths, \
                          and then how many were left out."
                .to_owned(),
            input_schema: schema_for!(ListArguments).into(),
        }
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Done, ToolError>> {
        Box::pin(async move {
            let ListArguments { path, pattern } = call.arguments()?;
            let path = path.unwrap_or_else(|| ".".to_owned());
            let matcher = pattern.as_deref().map(compile).transpose()?;
            let workspace = call.context.workspace.clone();
            let listed = blocking(move || {
                let found = FileListing::of(&workspace, &path, matcher.as_ref());
                let found = found.map_err(|error| explain(&path, "listed", &error))?;
                Ok(found.tell(pattern.as_deref()))
            });
            listed.await?
        })
    }
}

fn compile(pattern: &str) -> Result<GlobMatcher, ToolError> {
    if pattern.len() > MAX_PATTERN_BYTES {
        let text = format!("the pattern is longer than {MAX_PATTERN_BYTES} bytes");
        return Err(ToolError::Reply(text));
    }
    let pattern = pattern.trim_start_matches("./");
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    let glob = glob
        .map_err(|error| ToolError::Reply(format!("the pattern is not a valid glob: {error}")))?;
    Ok(glob.compile_matcher())
}

/// The entries that were found, before they are sorted.
#[derive(Default)]
struct FileListing {
    lines: Vec<String>,
    seen: usize,
    /// Whether there were more entries than are read.
    is_cut: bool,
}

impl FileListing {
    fn of(
        workspace: &Workspace,
        path: &str,
        matcher: Option<&GlobMatcher>,
    ) -> Result<Self, AccessError> {
        let mut listing = Self::default();
        let root = workspace.directory_at(path)?;
        let mut directories = vec![String::new()];
        while let Some(below) = directories.pop() {
            let entries = match workspace.read_directory(&join(&root, &below)) {
                Ok(entries) => entries,
                Err(error) if below.is_empty() => return Err(error),
                // The directory is not readable, or does not exist any more.
                Err(_) => continue,
            };
            for entry in entries {
                if listing.seen == MAX_SEEN {
                    listing.is_cut = true;
                    return Ok(listing);
                }
                listing.seen += 1;
                let path = join(&below, &entry.name);
                let is_directory = matches!(entry.kind, EntryKind::Directory);
                if matcher.is_none_or(|matcher| matcher.is_match(&path)) {
                    listing.lines.push(line(&path, &entry.kind));
                }
                if is_directory && matcher.is_some() {
                    directories.push(path);
                }
            }
        }
        Ok(listing)
    }

    fn tell(mut self, pattern: Option<&str>) -> Done {
        self.lines.sort_unstable();
        let left_out = self.lines.len().saturating_sub(MAX_SHOWN);
        self.lines.truncate(MAX_SHOWN);
        match (self.lines.is_empty(), pattern) {
            (false, _) => {}
            (true, Some(pattern)) => self.lines.push(format!("[nothing matches `{pattern}`]")),
            (true, None) => self.lines.push("[the directory is empty]".to_owned()),
        }
        if left_out > 0 {
            self.lines.push(format!("[… and {left_out} more]"));
        }
        if self.is_cut {
            self.lines.push(format!(
                "[there are more than {MAX_SEEN} files, and not all were searched: list a subdirectory]"
            ));
        }
        Done {
            truncated: left_out > 0 || self.is_cut,
            ..Done::text(self.lines.join("\n"))
        }
    }
}

/// Returns a line of the result. Line breaks in a name are escaped, because they would look like another name.
fn line(path: &str, kind: &EntryKind) -> String {
    let path: String = path.chars().flat_map(visible).collect();
    match kind {
        EntryKind::Directory => format!("{path}/"),
        EntryKind::Link(target) => {
            let target: String = target.chars().flat_map(visible).collect();
            format!("{path} -> {target}")
        }
        EntryKind::Other => path,
    }
}

fn visible(char: char) -> impl Iterator<Item = char> {
    let escaped = char.is_control().then(|| char.escape_default());
    let plain = escaped.is_none().then_some(char);
    plain.into_iter().chain(escaped.into_iter().flatten())
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() || name.is_empty() {
        format!("{path}{name}")
    } else {
        format!("{path}/{name}")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    fn list(path: &str, pattern: Option<&str>) -> String {
        let home = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(home.path().join("job"), None);
        let place = workspace.job_directory().host_paths().0;
        workspace.create_directory("empty", 0o755).unwrap();
        let at = |name: &str| Path::new(&place).join(name);
        for directory in ["src/deep", ".git", "empty"] {
            fs::create_dir_all(at(directory)).unwrap();
        }
        for file in [
            "b.rs",
            "a.rs",
            ".hidden",
            "src/c.rs",
            "src/deep/d.rs",
            "two\nlines",
            "x.py",
        ] {
            fs::write(at(file), "").unwrap();
        }
        symlink("src", at("link")).unwrap();
        symlink("/etc", at("out")).unwrap();
        symlink(".", at("src/round")).unwrap();
        let matcher = pattern.map(|pattern| compile(pattern).unwrap());
        match FileListing::of(&workspace, path, matcher.as_ref()) {
            Ok(listing) => listing.tell(pattern).text.replace('\n', " | "),
            Err(error) => explain(path, "listed", &error).to_string(),
        }
    }

    #[test]
    fn a_directory_is_listed_and_a_glob_goes_below() {
        let all = r".git/ | .hidden | a.rs | b.rs | empty/ | link -> src | out -> /etc | src/ | two\nlines | x.py";
        for root in [".", "", "/workspace", "src/.."] {
            assert_eq!(list(root, None), all, "{root}");
        }
        assert_eq!(list("src", None), "c.rs | deep/ | round -> .");
        assert_eq!(list("link", None), "c.rs | deep/ | round -> .");
        assert_eq!(list(".", Some("*.rs")), "a.rs | b.rs");
        assert_eq!(
            list(".", Some("**/*.rs")),
            "a.rs | b.rs | src/c.rs | src/deep/d.rs"
        );
        assert_eq!(list("src", Some("**/*.rs")), "c.rs | deep/d.rs");
        assert_eq!(list(".", Some("./{a,x}.{rs,py}")), "a.rs | x.py");
        assert_eq!(
            list(".", Some("src/*")),
            "src/c.rs | src/deep/ | src/round -> ."
        );
        assert_eq!(list(".", Some("*.go")), "[nothing matches `*.go`]");
        assert_eq!(list("empty", None), "[the directory is empty]");
    }

    #[test]
    fn what_is_no_directory_of_the_workspace_is_refused() {
        let cases = [
            ("none", "it does not exist"),
            ("a.rs", "it is not a directory"),
            ("out", "leads out of it"),
            ("..", "leads out of it"),
            ("/etc", "Paths are relative to the workspace"),
            ("/tmp", "Only shell commands see /tmp"),
            ("/proc/self/root", "leads out of it"),
        ];
        for (path, words) in cases {
            let told = list(path, Some("**"));
            assert!(told.contains(words), "{path}: {told}");
        }
        let told = compile("a[").unwrap_err().to_string();
        assert!(
            told.starts_with("the pattern is not a valid glob"),
            "{told}"
        );
        assert!(compile(&"{a,b}".repeat(1000)).is_err());
    }
}
