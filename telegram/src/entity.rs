//! The text of a message as Markdown, for a prompt.

use crate::update::TextEntity;

/// Converts a text to Markdown with the formats that matter to a model: code and links. Telegram removes these marks
/// from what people write.
pub(crate) fn to_markdown(text: &str, entities: &[TextEntity]) -> String {
    let units: Vec<u16> = text.encode_utf16().collect();
    let mut marks: Vec<(usize, String)> = Vec::new();
    let mut last_end = 0;
    for entity in entities {
        let end = entity.offset.saturating_add(entity.length);
        // Code and links do not overlap.
        if entity.offset < last_end || end > units.len() {
            continue;
        }
        let Some((before, after)) = marks_of(entity, &units) else {
            continue;
        };
        last_end = end;
        marks.push((entity.offset, before));
        marks.push((end, after));
    }
    let mut markdown = String::with_capacity(text.len());
    let mut from = 0;
    for (at, mark) in marks {
        markdown.push_str(&String::from_utf16_lossy(&units[from..at]));
        markdown.push_str(&mark);
        from = at;
    }
    markdown.push_str(&String::from_utf16_lossy(&units[from..]));
    markdown
}

fn marks_of(entity: &TextEntity, units: &[u16]) -> Option<(String, String)> {
    match entity.kind.as_str() {
        "code" => Some(("`".to_owned(), "`".to_owned())),
        "pre" => {
            let language = entity.language.as_deref().unwrap_or_default();
            let is_line_start = entity.offset == 0 || units[entity.offset - 1] == u16::from(b'\n');
            let line_break = if is_line_start { "" } else { "\n" };
            Some((format!("{line_break}```{language}\n"), "\n```\n".to_owned()))
        }
        "text_link" => {
            let url = entity.url.as_deref()?;
            Some(("[".to_owned(), format!("]({url})")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(kind: &str, offset: usize, length: usize) -> TextEntity {
        TextEntity {
            kind: kind.to_owned(),
            offset,
            length,
            url: Some("https://example.com".to_owned()),
            language: Some("bash".to_owned()),
        }
    }

    #[test]
    fn code_and_links_are_markdown_again() {
        let text = "🥖 run\necho hi\nthen x and here";
        let entities = [
            entity("bold", 0, 2),
            entity("pre", 7, 7),
            entity("code", 20, 1),
            entity("text_link", 26, 4),
        ];
        let markdown = "🥖 run\n```bash\necho hi\n```\n\nthen `x` and [here](https://example.com)";
        assert_eq!(to_markdown(text, &entities), markdown);
    }

    #[test]
    fn entities_that_fit_no_text_are_left_out() {
        let wrong = [
            entity("code", 3, 90),
            entity("code", usize::MAX, 2),
            entity("pre", 0, 1),
            entity("code", 0, 2),
        ];
        assert_eq!(to_markdown("abc", &wrong), "```bash\na\n```\nbc");
        assert_eq!(
            to_markdown("🥖", &[entity("code", 1, 1)]).chars().count(),
            4
        );
    }
}
