//! Jobs of the demo.

/// A job of the demo: a skill and the commands that `script/bash` runs for it.
pub(super) struct DemoStep {
    pub(super) skill: &'static str,
    pub(super) what: &'static str,
    pub(super) prompt: &'static str,
    /// Whether the job receives the input files.
    pub(super) takes_files: bool,
    /// The number of files that the job creates.
    pub(super) outputs: usize,
    /// Whether the job calls the API of the bakery. Its URL replaces `BAKERY` in the prompt.
    pub(super) uses_demo_api: bool,
    /// Whether the job prints a page with the browser, which is optional for its skill.
    pub(super) needs_browser: bool,
}

/// The sales of the bakery, one line per month.
pub(super) const BOOKS: &str = include_str!("../../../../examples/bakery.csv");

/// The input files of the jobs.
pub(super) const INPUTS: [(&str, &[u8]); 2] = [
    ("bakery.csv", BOOKS.as_bytes()),
    (
        "notes.txt",
        include_bytes!("../../../../examples/notes.txt"),
    ),
];

/// Jobs that run on nearly every machine.
pub(super) const FIRST: [DemoStep; 3] = [
    DemoStep {
        skill: "shell",
        what: "Summing up two years of sales",
        prompt: include_str!("../../demo/shell.md"),
        takes_files: true,
        outputs: 0,
        uses_demo_api: false,
        needs_browser: false,
    },
    DemoStep {
        skill: "image",
        what: "Drawing the sales as a chart",
        prompt: include_str!("../../demo/image.md"),
        takes_files: true,
        outputs: 1,
        uses_demo_api: false,
        needs_browser: false,
    },
    DemoStep {
        skill: "html",
        what: "Writing a report as a page",
        prompt: include_str!("../../demo/html.md"),
        takes_files: true,
        outputs: 1,
        uses_demo_api: false,
        needs_browser: false,
    },
];

/// Jobs that need more programs.
pub(super) const ALL: [DemoStep; 14] = [
    DemoStep {
        skill: "sqlite",
        what: "Asking a database three questions",
        prompt: include_str!("../../demo/sqlite.md"),
        takes_files: true,
        outputs: 1,
        uses_demo_api: false,
        needs_browser: false,
    },
    DemoStep {
        skill: "pdf",
        what: "Writing a report as PDF",
        prompt: include_str!("../../demo/pdf.md"),
        takes_files: true,
        outputs: 1,
        uses_demo_api: false,
        needs_browser: true,
    },
    DemoStep {
        skill: "docx",
        what: "Writing a report for Word",
        prompt: include_str!("../../demo/docx.md"),
        takes_files: true,
        outputs: 1,
        uses_demo_api: false,
        needs_browser: false,
    },
    DemoStep {
        skill: "spreadsheet",
        what: "Making a workbook with live formulas",
        prompt: include_str!("../../demo/spreadsheet.md"),
        takes_files: true,
        outputs: 1,
        uses_demo_api: false,
        needs_browser: false,
    },
    DemoStep {
        skill: "pptx",
        what: "Making a deck with charts that can be edited",
        prompt: include_str!("../../demo/pptx.md"),
        takes_files: true,
        outputs: 1,
        uses_demo_api: false,
        needs_browser: false,
    },
    DemoStep {
        skill: "document",
        what: "Turning notes into an office file and a book",
        prompt: include_str!("../../demo/document.md"),
        takes_files: true,
        outputs: 2,
        uses_demo_api: false,
        needs_browser: false,
    },
    DemoStep {
        skill: "ffmpeg",
        what: "Making the sales audible",
        prompt: include_str!("../../demo/ffmpeg.md"),
        takes_files: false,
        outputs: 1,
        uses_demo_api: false,
        needs_browser: false,
    },
    DemoStep {
        skill: "media",
        what: "Making a film with sound",
        prompt: include_str!("../../demo/media.md"),
        takes_files: true,
        outputs: 2,
        uses_demo_api: false,
        needs_browser: false,
    },
    DemoStep {
        skill: "filesystem",
        what: "Bringing order into a folder",
        prompt: include_str!("../../demo/filesystem.md"),
        takes_files: true,
        outputs: 1,
        uses_demo_api: false,
        needs_browser: false,
    },
    DemoStep {
        skill: "git",
        what: "Keeping the books in Git",
        prompt: include_str!("../../demo/git.md"),
        takes_files: true,
        outputs: 2,
        uses_demo_api: false,
        needs_browser: false,
    },
    DemoStep {
        skill: "vectorstore",
        what: "Making the notes searchable",
        prompt: include_str!("../../demo/vectorstore.md"),
        takes_files: true,
        outputs: 1,
        uses_demo_api: false,
        needs_browser: false,
    },
    DemoStep {
        skill: "ytdlp",
        what: "Downloading the film of a page",
        prompt: include_str!("../../demo/ytdlp.md"),
        takes_files: true,
        outputs: 1,
        uses_demo_api: false,
        needs_browser: false,
    },
    DemoStep {
        skill: "browser",
        what: "Looking at a page that scripts draw",
        prompt: include_str!("../../demo/browser.md"),
        takes_files: true,
        outputs: 1,
        uses_demo_api: false,
        needs_browser: false,
    },
    DemoStep {
        skill: "httpapi",
        what: "Asking an API, and ordering rolls from it",
        prompt: include_str!("../../demo/httpapi.md"),
        takes_files: false,
        outputs: 0,
        uses_demo_api: true,
        needs_browser: false,
    },
];
