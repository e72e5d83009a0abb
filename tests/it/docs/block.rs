//! Command blocks in a Markdown page.

/// A command block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The line number of the opening fence, from 1.
    pub(super) line: usize,
    pub(super) handling: Handling,
    /// The commands, each with the output that the page shows, if any.
    pub(super) commands: Vec<Command>,
}

/// The handling of a block according to the comment before it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Handling {
    Run,
    /// The block starts a service for the blocks after it.
    Background,
    NotExecuted {
        reason: String,
    },
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) text: String,
    /// `None` if the page shows no output.
    pub(super) output: Option<Vec<String>>,
}

/// Returns the blocks of a page with the language `sh`, `bash` or `console`.
pub(super) fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = page.lines().enumerate();
    let mut before = "";
    while let Some((number, line)) = lines.next() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        if ticks >= 3 {
            let body = lines.by_ref().map(|(_, line)| line);
            let body: Vec<_> = body.take_while(|line| !closes(line, ticks)).collect();
            let commands = match &line[ticks..] {
                "sh" | "bash" => Some(vec![Command {
                    text: body.join("\n"),
                    output: None,
                }]),
                "console" => Some(console(&body)),
                _ => None,
            };
            blocks.extend(commands.map(|commands| Block {
                line: number + 1,
                handling: handling_of(before),
                commands,
            }));
        }
        before = line;
    }
    blocks
}

/// Whether the line closes a fence: it has at least as many backticks as the opening line.
fn closes(line: &str, ticks: usize) -> bool {
    line.len() >= ticks && line.bytes().all(|byte| byte == b'`')
}

fn handling_of(line_before: &str) -> Handling {
    let comment = line_before.strip_prefix("<!-- ");
    let comment = comment.and_then(|rest| rest.strip_suffix(" -->"));
    match comment {
        Some("in the background") => Handling::Background,
        Some(text) => match text.strip_prefix("not executed") {
            Some(rest) => Handling::NotExecuted {
                reason: rest.trim_start_matches(':').trim().to_owned(),
            },
            None => Handling::Run,
        },
        None => Handling::Run,
    }
}

/// Parses a console block. Commands begin with `$ ` and may continue after a backslash. The other lines are output.
fn console(body: &[&str]) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    for line in body {
        let last = commands.last_mut();
        match (line.strip_prefix("$ "), last) {
            (Some(text), _) => commands.push(Command {
                text: text.to_owned(),
                output: Some(Vec::new()),
            }),
            (None, Some(last)) if last.text.ends_with('\\') => {
                last.text = format!("{}\n{line}", last.text);
            }
            (None, Some(last)) => last.output.get_or_insert_default().push((*line).to_owned()),
            (None, None) => panic!("a console block begins with a command: {line}"),
        }
    }
    commands
}

/// Whether the output matches the page. `…` in a line matches any text; a line of `…` matches any lines.
pub(super) fn shows(expected: &[String], actual: &[&str]) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((first, rest)) if first == "…" => {
            (0..=actual.len()).any(|skipped| shows(rest, &actual[skipped..]))
        }
        Some((first, rest)) => actual
            .split_first()
            .is_some_and(|(line, others)| fits(first, line) && shows(rest, others)),
    }
}

fn fits(pattern: &str, line: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('…') else {
        return pattern == line;
    };
    let Some(mut line) = line.strip_prefix(start) else {
        return false;
    };
    let mut parts: Vec<_> = rest.split('…').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        match line.find(part) {
            Some(at) => line = &line[at + part.len()..],
            None => return false,
        }
    }
    line.ends_with(end)
}

#[test]
fn a_page_is_read_as_it_is_meant() {
    let page = "# T\n\n<!-- not executed: needs root -->\n```sh\nsudo true\n```\n\n````sh\nrun 'x\n```bash\n```'\n````\n\
                ```json\n{}\n```\n<!-- in the background -->\n```console\n$ up \\\n    --fast\nready at …\n```\n";
    let [skipped, nested, background] = &blocks(page)[..] else {
        panic!("{:#?}", blocks(page))
    };
    let reason = "needs root".to_owned();
    assert_eq!(
        (skipped.line, &skipped.handling),
        (4, &Handling::NotExecuted { reason })
    );
    assert_eq!((nested.line, &nested.handling), (8, &Handling::Run));
    assert_eq!(nested.commands[0].text, "run 'x\n```bash\n```'");
    assert_eq!(background.handling, Handling::Background);
    let output = Some(vec!["ready at …".to_owned()]);
    let text = "up \\\n    --fast".to_owned();
    assert_eq!(background.commands, [Command { text, output }]);
}

#[test]
fn an_ellipsis_stands_for_anything() {
    let of = |lines: &[&str]| {
        lines
            .iter()
            .map(|line| (*line).to_owned())
            .collect::<Vec<_>>()
    };
    assert!(shows(&of(&["a … c", "…", "z"]), &["a b c", "x", "y", "z"]));
    assert!(shows(&of(&["a", "…"]), &["a"]));
    assert!(!shows(&of(&["a … c"]), &["a b"]));
    assert!(!shows(&of(&["a"]), &["a", "b"]));
}
