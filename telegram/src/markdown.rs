//! Conversion of Markdown to formatted text.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::rich_text::{CodeStyle, RichText, TextStyle};

/// Returns the blocks of a text: paragraphs, headings, lists, code, tables.
pub(crate) fn blocks(markdown: &str) -> Vec<RichText> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = MarkdownWriter::default();
    for event in Parser::new_ext(markdown, options) {
        writer.take(event);
    }
    writer.end_block();
    writer.blocks
}

#[derive(Default)]
struct MarkdownWriter {
    blocks: Vec<RichText>,
    block: RichText,
    style: TextStyle,
    /// The enclosing lists, each with the number of its next item.
    lists: Vec<Option<u64>>,
    quotes: usize,
    table: Option<MarkdownTable>,
}

/// The rows of a table. Text goes to the last cell.
#[derive(Default)]
struct MarkdownTable {
    rows: Vec<Vec<String>>,
}

impl MarkdownWriter {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(code) | Event::InlineMath(code) | Event::DisplayMath(code) => {
                let style = self.style.clone();
                self.style.code = CodeStyle::Inline;
                self.text(&code);
                self.style = style;
            }
            Event::SoftBreak | Event::HardBreak => self.text("\n"),
            Event::Rule => {
                self.end_block();
                self.text("———");
                self.end_block();
            }
            Event::TaskListMarker(is_done) => self.text(if is_done { "☑ " } else { "☐ " }),
            Event::FootnoteReference(name) => self.text(&format!("[{name}]")),
        }
    }

    fn text(&mut self, text: &str) {
        let cell = self.table.as_mut().and_then(|table| table.rows.last_mut());
        match cell.and_then(|row| row.last_mut()) {
            Some(cell) => cell.push_str(text),
            None => self.block.push(text, &self.style),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } => {
                self.end_block();
                self.style.bold = true;
            }
            Tag::Paragraph => self.separate(),
            Tag::BlockQuote(_) => {
                self.separate();
                self.quotes += 1;
                self.style.quote = true;
            }
            Tag::CodeBlock(kind) => {
                self.separate();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                let language = language.split([' ', ',']).next().unwrap_or_default();
                self.style.code = CodeStyle::Block(language.to_owned());
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.separate();
                }
                self.lists.push(first);
            }
            Tag::Item => self.start_item(),
            Tag::Emphasis => self.style.italic = true,
            Tag::Strong => self.style.bold = true,
            Tag::Strikethrough => self.style.strike = true,
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.style.link = is_web_address(&dest_url).then(|| dest_url.to_string());
            }
            Tag::Table(_) => {
                self.separate();
                self.table = Some(MarkdownTable::default());
            }
            Tag::TableHead | Tag::TableRow => {
                self.table
                    .iter_mut()
                    .for_each(|table| table.rows.push(Vec::new()));
            }
            Tag::TableCell => {
                let row = self.table.as_mut().and_then(|table| table.rows.last_mut());
                row.into_iter().for_each(|row| row.push(String::new()));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.style.bold = false;
                self.end_block();
            }
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_top_block(),
            TagEnd::BlockQuote(_) => {
                self.quotes -= 1;
                self.style.quote = self.quotes > 0;
                self.end_top_block();
            }
            TagEnd::CodeBlock => {
                self.trim_block();
                self.style.code = CodeStyle::None;
                self.end_top_block();
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.end_top_block();
            }
            TagEnd::Emphasis => self.style.italic = false,
            TagEnd::Strong => self.style.bold = false,
            TagEnd::Strikethrough => self.style.strike = false,
            TagEnd::Link | TagEnd::Image => self.style.link = None,
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let style = TextStyle {
                        code: CodeStyle::Block(String::new()),
                        ..self.style.clone()
                    };
                    self.block.push(&table.aligned(), &style);
                }
                self.end_top_block();
            }
            _ => {}
        }
    }

    fn start_item(&mut self) {
        self.trim_block();
        if !self.block.runs.is_empty() {
            self.text("\n");
        }
        let depth = self.lists.len();
        let bullet = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "• ".to_owned(),
        };
        let indentation = "  ".repeat(depth.saturating_sub(1));
        self.text(&format!("{indentation}{bullet}"));
    }

    /// Starts a block, or a paragraph inside a list or a quote.
    fn separate(&mut self) {
        if self.lists.is_empty() && self.quotes == 0 {
            self.end_block();
            return;
        }
        let before = self.block.plain_text();
        let is_item = before.ends_with("• ") || before.ends_with(". ") || before.ends_with("] ");
        if !before.is_empty() && !before.ends_with('\n') && !is_item {
            self.text("\n");
        }
    }

    fn end_top_block(&mut self) {
        if self.lists.is_empty() && self.quotes == 0 {
            self.end_block();
        }
    }

    fn trim_block(&mut self) {
        if let Some(last) = self.block.runs.last_mut() {
            last.text.truncate(last.text.trim_end_matches('\n').len());
            if last.text.is_empty() {
                self.block.runs.pop();
            }
        }
    }

    fn end_block(&mut self) {
        self.trim_block();
        let block = std::mem::take(&mut self.block);
        if !block.is_blank() {
            self.blocks.push(block);
        }
    }
}

impl MarkdownTable {
    /// Returns the rows with columns of a fixed width.
    fn aligned(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or_default()
        };
        let widths: Vec<_> = (0..columns).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths);
            let cells = cells.map(|(cell, width)| format!("{cell:<width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let mut lines: Vec<_> = self.rows.iter().map(line).collect();
        if lines.len() > 1 {
            let rules = widths.iter().map(|width| "─".repeat(*width));
            lines.insert(1, rules.collect::<Vec<_>>().join("  "));
        }
        lines.join("\n")
    }
}

/// Returns whether Telegram supports a link to this URL. It shows other links as text.
fn is_web_address(url: &str) -> bool {
    let beginnings = ["https://", "http://", "tg://", "mailto:"];
    beginnings.iter().any(|it| url.starts_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(markdown: &str) -> Vec<String> {
        blocks(markdown).iter().map(RichText::html).collect()
    }

    #[test]
    fn blocks_have_the_formats_that_telegram_knows() {
        let markdown = "# Sales\n\nMore **bold *both* text** and ~~old~~ `x < y`, see [the page](https://example.com/?a=1&b=\"2\").\n\n\
            ```python\nif a < b:\n    print()\n```\n\n> quoted\n> text\n\n---\n";
        assert_eq!(
            html(markdown),
            [
                "<b>Sales</b>",
                "More <b>bold </b><b><i>both</i></b><b> text</b> and <s>old</s> <code>x &lt; y</code>, see \
                 <a href=\"https://example.com/?a=1&amp;b=&quot;2&quot;\">the page</a>.",
                "<pre><code class=\"language-python\">if a &lt; b:\n    print()</code></pre>",
                "<blockquote>quoted\ntext</blockquote>",
                "———",
            ]
        );
    }

    #[test]
    fn lists_are_lines() {
        let markdown = "- one\n- two\n  1. first\n  2. second\n- [x] done\n- [ ] open";
        let lines = "• one\n• two\n  1. first\n  2. second\n• ☑ done\n• ☐ open";
        assert_eq!(html(markdown), [lines]);
        assert_eq!(html("3. c\n\n4. d"), ["3. c\n4. d"]);
    }

    #[test]
    fn a_table_is_aligned() {
        let markdown = "| Month | Sum |\n|---|---|\n| January | 1 |\n| May | 20 |";
        let table = "<pre>Month    Sum\n───────  ───\nJanuary  1\nMay      20</pre>";
        assert_eq!(html(markdown), [table]);
    }

    #[test]
    fn html_and_links_of_other_kinds_are_text() {
        assert_eq!(
            html("<script>alert(1)</script>\n\n<b>x</b> [y](javascript:alert(1))"),
            [
                "&lt;script&gt;alert(1)&lt;/script&gt;",
                "&lt;b&gt;x&lt;/b&gt; y",
            ]
        );
    }
}
