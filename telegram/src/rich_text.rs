//! Formatted text and its conversion to Telegram's HTML.

use std::fmt::Write;

/// The maximum length of a message, as Telegram counts it.
pub(crate) const MESSAGE_LIMIT: usize = 4096;

/// The format of a run of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextStyle {
    pub(crate) bold: bool,
    pub(crate) italic: bool,
    pub(crate) strike: bool,
    pub(crate) quote: bool,
    pub(crate) code: CodeStyle,
    pub(crate) link: Option<String>,
}

/// The code format of a run of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum CodeStyle {
    #[default]
    None,
    Inline,
    /// A block with its language.
    Block(String),
}

/// Text with a single format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextRun {
    pub(crate) text: String,
    pub(crate) style: TextStyle,
}

/// Formatted text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RichText {
    pub(crate) runs: Vec<TextRun>,
}

impl RichText {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        let mut rich = Self::default();
        rich.push(&text.into(), &TextStyle::default());
        rich
    }

    /// Returns text in a block of fixed-width text.
    pub(crate) fn code_block(text: &str) -> Self {
        let mut rich = Self::default();
        let code = CodeStyle::Block(String::new());
        let style = TextStyle {
            code,
            ..TextStyle::default()
        };
        rich.push(text, &style);
        rich
    }

    /// Appends text. Adjacent runs with the same format are merged. Characters that Telegram refuses are left out.
    pub(crate) fn push(&mut self, text: &str, style: &TextStyle) {
        let text: String = text.chars().filter(|it| is_accepted(*it)).collect();
        if text.is_empty() {
            return;
        }
        match self.runs.last_mut() {
            Some(last) if last.style == *style => last.text.push_str(&text),
            _ => self.runs.push(TextRun {
                text,
                style: style.clone(),
            }),
        }
    }

    pub(crate) fn bold(mut self, text: &str) -> Self {
        let style = TextStyle {
            bold: true,
            ..TextStyle::default()
        };
        self.push(text, &style);
        self
    }

    pub(crate) fn code(mut self, text: &str) -> Self {
        let style = TextStyle {
            code: CodeStyle::Inline,
            ..TextStyle::default()
        };
        self.push(text, &style);
        self
    }

    pub(crate) fn italic(mut self, text: &str) -> Self {
        let style = TextStyle {
            italic: true,
            ..TextStyle::default()
        };
        self.push(text, &style);
        self
    }

    pub(crate) fn text(mut self, text: &str) -> Self {
        self.push(text, &TextStyle::default());
        self
    }

    pub(crate) fn append(&mut self, other: Self) {
        for run in other.runs {
            self.push(&run.text, &run.style);
        }
    }

    /// The length as Telegram counts it: in UTF-16 units, without the markup.
    pub(crate) fn length(&self) -> usize {
        self.runs.iter().map(|run| utf16_length(&run.text)).sum()
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.runs.iter().all(|run| run.text.trim().is_empty())
    }

    /// The text without its format.
    pub(crate) fn plain_text(&self) -> String {
        self.runs.iter().map(|run| run.text.as_str()).collect()
    }

    /// The text as Telegram HTML.
    pub(crate) fn html(&self) -> String {
        let mut html = String::new();
        for group in self
            .runs
            .chunk_by(|one, other| one.style.quote == other.style.quote)
        {
            let quote = group[0].style.quote;
            html.push_str(if quote { "<blockquote>" } else { "" });
            group.iter().for_each(|run| run.write_html(&mut html));
            html.push_str(if quote { "</blockquote>" } else { "" });
        }
        html
    }
}

impl TextRun {
    fn write_html(&self, html: &mut String) {
        let text = escape(&self.text);
        match &self.style.code {
            // Telegram allows no other format inside code.
            CodeStyle::Inline if self.style.link.is_none() => {
                let _ = write!(html, "<code>{text}</code>");
                return;
            }
            CodeStyle::Block(language) if language.is_empty() => {
                let _ = write!(html, "<pre>{text}</pre>");
                return;
            }
            CodeStyle::Block(language) => {
                let language = escape(language);
                let _ = write!(
                    html,
                    "<pre><code class=\"language-{language}\">{text}</code></pre>"
                );
                return;
            }
            _ => {}
        }
        let style = &self.style;
        let mut tags = Vec::new();
        if let Some(link) = &style.link {
            let _ = write!(html, "<a href=\"{}\">", escape(link));
        }
        for (is_on, tag) in [(style.bold, 'b'), (style.italic, 'i'), (style.strike, 's')] {
            if is_on {
                let _ = write!(html, "<{tag}>");
                tags.push(tag);
            }
        }
        html.push_str(&text);
        for tag in tags.into_iter().rev() {
            let _ = write!(html, "</{tag}>");
        }
        html.push_str(if style.link.is_some() { "</a>" } else { "" });
    }
}

/// The length of text as Telegram counts it.
pub(crate) fn utf16_length(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// Escapes text for HTML and for attribute values.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Returns whether a character is kept. Control characters are not text, and characters that change the direction of
/// the following text can fake a name.
fn is_accepted(letter: char) -> bool {
    let turns = matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !turns && (!letter.is_control() || matches!(letter, '\n' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_text_stays_text() {
        let rich = RichText::default()
            .bold("<b>&\"")
            .text("x\u{202e}\u{7}y")
            .code("</code>");
        let html = "<b>&lt;b&gt;&amp;&quot;</b>xy<code>&lt;/code&gt;</code>";
        assert_eq!(rich.html(), html);
        assert_eq!(rich.plain_text(), "<b>&\"xy</code>");
    }

    #[test]
    fn the_length_is_that_of_utf16() {
        assert_eq!(RichText::plain("aé🥖").bold("b").length(), 5);
    }

    #[test]
    fn a_quote_is_one_element() {
        let mut rich = RichText::default();
        let quote = TextStyle {
            quote: true,
            ..TextStyle::default()
        };
        rich.push("a", &quote);
        rich.push(
            "b",
            &TextStyle {
                bold: true,
                ..quote
            },
        );
        rich.push("c", &TextStyle::default());
        assert_eq!(rich.html(), "<blockquote>a<b>b</b></blockquote>c");
    }
}
