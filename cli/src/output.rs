//! The output of a command: a table, JSON, or only ids.

mod cell;
mod fields;
mod instant;
mod table;
mod view;

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};

use crate::terminal::{print, print_json};

pub(crate) use cell::{Cell, dollars, text_of};
pub(crate) use fields::print_fields;
pub(crate) use instant::{parse_instant, seconds};
pub(crate) use table::Column;
pub(crate) use view::View;

/// The output format of a command.
#[derive(Args, Clone, Copy, Default)]
pub(crate) struct OutputFormat {
    /// Print JSON, one object per line
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) json: bool,
    /// Print ids only
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// The display settings of a kind of resource.
pub(crate) struct ResourceKind {
    /// The field that identifies an entry.
    pub(crate) id: &'static str,
    /// The columns of a list. The last one takes the rest of the line.
    pub(crate) columns: &'static [Column],
}

impl OutputFormat {
    /// Prints a list.
    pub(crate) fn list(self, entries: &[Value], kind: &ResourceKind) -> anyhow::Result<()> {
        if self.json {
            return entries.iter().try_for_each(print_json);
        }
        if self.quiet {
            let mut ids = entries.iter().map(|entry| text_of(&entry[kind.id]));
            return ids.try_for_each(|id| print(&id));
        }
        let lines = table::lines(&View::of_stdout(), kind.columns, entries);
        lines.iter().try_for_each(|line| print(line))
    }

    /// Prints one entry. `show` prints the human-readable form.
    pub(crate) fn one(
        self,
        id: &str,
        entry: &impl Serialize,
        show: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        if self.json {
            print_json(entry)
        } else if self.quiet {
            print(id)
        } else {
            show()
        }
    }

    /// Prints one entry as a list of its fields.
    pub(crate) fn fields(self, kind: &ResourceKind, entry: &Value) -> anyhow::Result<()> {
        self.one(&text_of(&entry[kind.id]), entry, || print_fields(entry))
    }

    /// Prints the action that was done to an entry, such as `deleted`.
    pub(crate) fn done(self, kind: &ResourceKind, done: &str, id: &str) -> anyhow::Result<()> {
        let entry = json!({kind.id: id, done: true});
        self.one(id, &entry, || print(&format!("{done} {id}")))
    }
}
