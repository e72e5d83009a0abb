//! A parser for Telegram's HTML.

/// Text with the tags around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkupRun {
    /// The text.
    pub text: String,
    /// The tags, outermost first.
    pub tags: Vec<String>,
}

const TAGS: [&str; 13] = [
    "b",
    "strong",
    "i",
    "em",
    "u",
    "ins",
    "s",
    "strike",
    "del",
    "code",
    "pre",
    "a",
    "blockquote",
];

/// Parses HTML into runs, or returns a description of the first error.
pub(super) fn parse(html: &str) -> Result<Vec<MarkupRun>, String> {
    let mut runs: Vec<MarkupRun> = Vec::new();
    let mut tags: Vec<String> = Vec::new();
    let mut rest = html;
    while let Some(letter) = rest.chars().next() {
        let text = match letter {
            '<' => {
                let end = rest.find('>').ok_or("unclosed start tag")?;
                let tag = &rest[1..end];
                rest = &rest[end + 1..];
                match tag.strip_prefix('/') {
                    Some(name) if tags.last().is_some_and(|last| last == name) => {
                        tags.pop();
                    }
                    Some(name) => return Err(format!("unexpected end tag \"{name}\"")),
                    None => {
                        let name = tag.split(' ').next().unwrap_or_default();
                        if !TAGS.contains(&name) {
                            return Err(format!("unsupported start tag \"{name}\""));
                        }
                        tags.push(name.to_owned());
                    }
                }
                continue;
            }
            '&' => {
                let entities = [
                    ("&lt;", "<"),
                    ("&gt;", ">"),
                    ("&amp;", "&"),
                    ("&quot;", "\""),
                ];
                let found = entities.iter().find(|(entity, _)| rest.starts_with(entity));
                let (entity, text) = found.ok_or("an entity that is none")?;
                rest = &rest[entity.len()..];
                (*text).to_owned()
            }
            '>' => return Err("a `>` that ends no tag".to_owned()),
            letter => {
                rest = &rest[letter.len_utf8()..];
                letter.to_string()
            }
        };
        match runs.last_mut() {
            Some(last) if last.tags == tags => last.text.push_str(&text),
            _ => runs.push(MarkupRun {
                text,
                tags: tags.clone(),
            }),
        }
    }
    match tags.last() {
        Some(open) => Err(format!(
            "can't find end tag corresponding to start tag \"{open}\""
        )),
        None => Ok(runs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_text_and_tags() {
        let runs = parse("a <b>b &lt;<i>c</i></b>").unwrap();
        let runs: Vec<_> = runs
            .iter()
            .map(|run| (run.text.as_str(), run.tags.join(" ")))
            .collect();
        let expected = [("a ", ""), ("b <", "b"), ("c", "b i")];
        assert_eq!(runs, expected.map(|(text, tags)| (text, tags.to_owned())));
        for wrong in [
            "<b>",
            "</b>",
            "<b><i></b></i>",
            "<script>x</script>",
            "a < b",
            "&nbsp;",
            "a > b",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
