//! The rows of a query, limited to what a model reads.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::call::{Call, Done};

/// The number of bytes that are reserved for information about the rows.
const ABOUT_BYTES: usize = 400;

/// The reply to a statement that returned rows.
#[derive(Serialize)]
struct RowsReply<'a> {
    rows: &'a [Box<RawValue>],
    row_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Returns the rows of a successful query. If there are too many, a file in the workspace contains all of them.
pub(super) async fn done(rows: &[Box<RawValue>], call: &Call<'_>) -> Done {
    let most = call.shown_bytes().saturating_sub(ABOUT_BYTES);
    let (text, truncated) = show(rows, most, None);
    if !truncated {
        return Done::text(text);
    }
    let mut spill = call.spill("rows.json");
    let all = serde_json::to_vec(rows).expect("rows are JSON");
    spill.push(&all).await;
    let whole = spill.finish().await.map(|spilled| spilled.path);
    Done {
        truncated,
        ..Done::text(show(rows, most, whole.as_deref()).0)
    }
}

/// Returns the rows as JSON of at most about `bytes` bytes, and whether rows are missing. `whole` names the file that
/// contains all rows, if there is one.
fn show(rows: &[Box<RawValue>], bytes: usize, whole: Option<&str>) -> (String, bool) {
    let mut left = bytes;
    let fitting = rows.iter().take_while(|row| {
        let size = row.get().len() + 1;
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    });
    let count = fitting.count();
    let is_cut = count < rows.len();
    let note = is_cut.then(|| {
        let rest = match whole {
            Some(path) => format!("all of them are in the workspace file {path}"),
            None => "ask for fewer columns or rows".to_owned(),
        };
        format!("only the first {count} rows are shown; {rest}")
    });
    let shown = RowsReply {
        rows: &rows[..count],
        row_count: rows.len(),
        note,
    };
    let text = serde_json::to_string(&shown).expect("rows are JSON");
    (text, is_cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_rows_are_shown_as_fit_and_the_others_are_counted() {
        let row = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let rows = [row(r#"{"a":1}"#), row(r#"{"a":2}"#), row(r#"{"a":30}"#)];
        let (text, is_cut) = show(&rows, 100, None);
        assert_eq!(
            (text.as_str(), is_cut),
            (
                r#"{"rows":[{"a":1},{"a":2},{"a":30}],"row_count":3}"#,
                false
            )
        );
        let (text, is_cut) = show(&rows, 16, Some(".skillet/1"));
        assert_eq!(
            (text.as_str(), is_cut),
            (
                r#"{"rows":[{"a":1},{"a":2}],"row_count":3,"note":"only the first 2 rows are shown; all of them are in the workspace file .skillet/1"}"#,
                true
            )
        );
        let (text, _) = show(&rows, 3, None);
        assert!(
            text.contains("first 0 rows are shown; ask for fewer"),
            "{text}"
        );
        assert_eq!(show(&[], 3, None).0, r#"{"rows":[],"row_count":0}"#);
    }
}
