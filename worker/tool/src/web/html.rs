//! Pages as text that a model can read.
//!
//! The tokens are converted to text one by one, without a tree. The time and memory for a page are proportional to
//! its length, however deep or wrong the nesting of its elements is.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};
use reqwest::Url;

/// A page as text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ReadablePage {
    pub(super) title: Option<String>,
    pub(super) text: String,
}

/// Elements whose content is not text for readers. Most contain only text, up to their end.
const UNREAD: [&str; 7] = [
    "script", "style", "noscript", "template", "svg", "iframe", "select",
];
/// Elements that start and end a line.
const BLOCKS: [&str; 24] = [
    "address",
    "article",
    "aside",
    "body",
    "dd",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "header",
    "legend",
    "li",
    "main",
    "nav",
    "ol",
    "section",
    "summary",
    "table",
    "tr",
    "ul",
];
/// Elements with an empty line before and after them.
const PARAGRAPHS: [&str; 9] = ["p", "pre", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6"];

/// Converts a page to text. Links are resolved against its URL.
pub(super) fn read(html: &str, base: &Url) -> ReadablePage {
    let mut emitter = DefaultEmitter::default();
    // Otherwise the text of scripts would be parsed as elements.
    emitter.naively_switch_states(true);
    let mut reader = HtmlReader::new(base);
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        match token {
            Token::StartTag(tag) => reader.open(&tag),
            Token::EndTag(tag) => reader.close(&String::from_utf8_lossy(&tag.name)),
            Token::String(text) => reader.text(&String::from_utf8_lossy(&text)),
            _ => {}
        }
    }
    reader.finish()
}

struct HtmlReader<'a> {
    base: &'a Url,
    page: ReadablePage,
    title: Option<String>,
    /// The element whose content is skipped, and the depth of its nesting in itself.
    unread: Option<(String, usize)>,
    /// The position at which the text of the link starts, and the target of the link.
    link: Option<(usize, String)>,
    is_preformatted: bool,
    /// Whether white space was read, which is written when text follows.
    has_space: bool,
}

impl<'a> HtmlReader<'a> {
    fn new(base: &'a Url) -> Self {
        Self {
            base,
            page: ReadablePage::default(),
            title: None,
            unread: None,
            link: None,
            is_preformatted: false,
            has_space: false,
        }
    }

    fn open(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name);
        if let Some((unread, depth)) = &mut self.unread {
            *depth += usize::from(*unread == name && !tag.self_closing);
            return;
        }
        let attribute = |name: &[u8]| {
            let value = tag.attributes.get(name)?;
            Some(String::from_utf8_lossy(value).trim().to_owned())
        };
        match &*name {
            "title" if self.page.title.is_none() => self.title = Some(String::new()),
            "a" => {
                self.end_link();
                if let Some(target) = attribute(b"href").and_then(|href| self.target(&href)) {
                    self.space();
                    self.link = Some((self.page.text.len(), target));
                }
            }
            "br" => self.line(),
            "hr" => {
                self.paragraph();
                self.page.text.push_str("---");
                self.paragraph();
            }
            "img" => {
                if let Some(alt) = attribute(b"alt").filter(|alt| !alt.is_empty()) {
                    self.text(&format!("[image: {alt}]"));
                }
            }
            "li" => {
                self.line();
                self.page.text.push_str("- ");
            }
            "td" | "th" if !self.is_at_line() => self.page.text.push_str(" | "),
            name if UNREAD.contains(&name) && !tag.self_closing => {
                self.unread = Some((name.to_owned(), 1));
            }
            name => {
                self.around(name);
                match name.strip_prefix('h').and_then(|level| level.parse().ok()) {
                    Some(level @ 1..=6) => {
                        self.page.text.push_str(&"#".repeat(level));
                        self.page.text.push(' ');
                    }
                    _ => self.is_preformatted |= name == "pre",
                }
            }
        }
    }

    fn close(&mut self, name: &str) {
        if let Some((unread, depth)) = &mut self.unread {
            *depth -= usize::from(unread == name);
            if *depth == 0 {
                self.unread = None;
            }
            return;
        }
        match name {
            "title" => self.page.title = self.title.take().or(self.page.title.take()),
            "a" => self.end_link(),
            "pre" => {
                self.is_preformatted = false;
                self.around(name);
            }
            name => self.around(name),
        }
    }

    fn text(&mut self, text: &str) {
        if self.unread.is_some() {
            return;
        }
        if let Some(title) = &mut self.title {
            title.push_str(text);
            return;
        }
        if self.is_preformatted {
            self.page.text.push_str(text);
            return;
        }
        for (number, word) in text.split(is_space).enumerate() {
            self.has_space |= number > 0;
            if !word.is_empty() {
                self.space();
                self.page.text.push_str(word);
            }
        }
    }

    /// Writes the pending space, unless a line starts here.
    fn space(&mut self) {
        if std::mem::take(&mut self.has_space) && !self.is_at_line() {
            self.page.text.push(' ');
        }
    }

    fn around(&mut self, name: &str) {
        if PARAGRAPHS.contains(&name) {
            self.paragraph();
        } else if BLOCKS.contains(&name) {
            self.line();
        }
    }

    fn line(&mut self) {
        self.has_space = false;
        if !self.is_at_line() {
            self.page.text.push('\n');
        }
    }

    fn paragraph(&mut self) {
        self.line();
        if !self.page.text.is_empty() && !self.page.text.ends_with("\n\n") {
            self.page.text.push('\n');
        }
    }

    /// Whether the current line is empty, except for the mark of a list item or a heading. Only
    /// such a mark ends in a space.
    fn is_at_line(&self) -> bool {
        self.page.text.is_empty() || self.page.text.ends_with(['\n', ' '])
    }

    /// Returns the target of a link, if it is another place on the web.
    fn target(&self, href: &str) -> Option<String> {
        let target = self.base.join(href).ok()?;
        let is_elsewhere = !href.starts_with('#') && matches!(target.scheme(), "http" | "https");
        is_elsewhere.then(|| target.into())
    }

    /// Writes a link in Markdown, if it has a text.
    fn end_link(&mut self) {
        let Some((start, target)) = self.link.take() else {
            return;
        };
        let text = self.page.text[start..].trim();
        if !text.is_empty() && !text.contains('\n') {
            let link = format!("[{text}]({target})");
            let lead = self.page.text[start..].len() - self.page.text[start..].trim_start().len();
            self.page.text.truncate(start + lead);
            self.page.text.push_str(&link);
        }
    }

    fn finish(mut self) -> ReadablePage {
        self.end_link();
        let title = self.page.title.or(self.title);
        let title = title.map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
        ReadablePage {
            title: title.filter(|title| !title.is_empty()),
            text: self.page.text.trim().to_owned(),
        }
    }
}

/// Whether HTML treats a character as white space. A non-breaking space is not white space.
fn is_space(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn page(html: &str) -> ReadablePage {
        read(html, &"https://example.com/a/b".parse().unwrap())
    }

    #[test]
    fn a_page_becomes_text_with_headings_lists_tables_and_links() {
        let html = r##"<!doctype html><html><head><title> The
            Title </title><style>p { color: red }</style><script>if (a < b) { "<p>" }</script></head>
            <body><h1>Head &amp; line</h1><p>One   <b>bold</b>,
            a <a href="../c?d=1#e">link <i>here</i></a>.<p>Two<br>lines
            <ul><li>first<li>second <a href="#top">up</a></ul>
            <table><tr><th>a<th>b<tr><td>1</td><td>2</td></table>
            <pre>  keep
   this</pre><svg><title>no</title><text>x</text></svg><img src=x alt="a dog"><img src=y>
            <noscript>no</noscript><a href="javascript:x()">js</a><a href="/only"></a> end</body></html>"##;
        let page = page(html);
        assert_eq!(page.title.as_deref(), Some("The Title"));
        let expected = "# Head & line\n\nOne bold, a [link here](https://example.com/c?d=1#e).\n\nTwo\nlines\n- first\n\
                        - second up\na | b\n1 | 2\n\n  keep\n   this\n\n[image: a dog] js end";
        assert_eq!(page.text, expected);
    }

    #[test]
    fn wrong_and_cut_pages_are_read_as_far_as_they_go() {
        assert_eq!(page("<p>a<title>b").title.as_deref(), Some("b"));
        assert_eq!(page("a</p></div></script></b>c").text, "a\n\nc");
        assert_eq!(page("a<script>never ends <p>b").text, "a");
        assert_eq!(page("a <a href=x>b").text, "a [b](https://example.com/a/x)");
        assert_eq!(page("<svg><svg></svg>a</svg>b").text, "b");
        assert_eq!(page("").text, "");
        assert_eq!(page("&#0;&#xD800;&nope;").text, "\u{fffd}\u{fffd}&nope;");
    }

    #[test]
    fn no_page_takes_more_than_its_length_explains() {
        let begun_at = Instant::now();
        for piece in [
            "<div>",
            "<a href=x>y",
            "<a href=",
            "<ul><li>",
            "<svg>",
            "<p a=1 b=2>",
            "</p>",
            "<pre>",
            "&",
            "<!--",
            "<td>",
        ] {
            page(&piece.repeat(500_000 / piece.len()));
        }
        let attributes: String = (0..50_000).map(|n| format!(" a{n}=1")).collect();
        page(&format!("<p{attributes}>"));
        assert!(
            begun_at.elapsed() < Duration::from_secs(20),
            "{:?}",
            begun_at.elapsed()
        );
    }
}
