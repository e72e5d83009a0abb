//! The arguments of the browser tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The maximum number of steps of a call.
pub(super) const MAX_STEPS: usize = 30;

/// Several steps.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Browse {
    /// The steps, in order.
    #[schemars(length(min = 1, max = MAX_STEPS))]
    steps: Vec<BrowserStep>,
    /// Width of the window in pixels. Default: 1280.
    #[schemars(range(min = 200, max = 4000))]
    width: Option<u32>,
    /// Height of the window in pixels. Default: 900.
    #[schemars(range(min = 200, max = 4000))]
    height: Option<u32>,
}

/// One step. Which fields it needs depends on its action.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct BrowserStep {
    /// What to do.
    action: StepAction,
    /// `open`: an http or https URL, or an HTML file of the workspace.
    url: Option<String>,
    /// A CSS selector of the element that is meant: to click, to type into, to wait for, to show alone.
    selector: Option<String>,
    /// The element by its words instead: what a button or link says, the label or placeholder of a field.
    text: Option<String>,
    /// `type`: the text, which replaces what the field has. A secret of the job is written {{secret:NAME}}.
    /// `select`: the option. `scroll`: `top`, `bottom`, or pixels.
    value: Option<String>,
    /// `type`: whether to add to what the field has.
    append: Option<bool>,
    /// `type`: whether to press Enter afterwards.
    submit: Option<bool>,
    /// `press`: a character or key, such as `Enter`, `Escape`, `ArrowDown`, `Control+A`.
    key: Option<String>,
    /// `wait`: seconds, at most 30; with an element, the longest time to wait for it.
    #[schemars(range(min = 0.1, max = 30))]
    seconds: Option<f64>,
    /// `wait`: whether to wait until the element is gone.
    gone: Option<bool>,
    /// `click`: whether to accept a dialog that asks for confirmation. It is dismissed otherwise.
    accept_dialog: Option<bool>,
    /// `extract`: what; default: `text`.
    what: Option<ExtractPart>,
    /// `screenshot`: the file of the picture, default `screenshot-N.png`; `upload`: the file to send.
    path: Option<String>,
    /// `screenshot`: whether all of the page is shown.
    full_page: Option<bool>,
    /// `search`: how many elements to show. Default: 20.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum StepAction {
    Open,
    Back,
    Click,
    Type,
    Select,
    Upload,
    Press,
    Wait,
    Scroll,
    Extract,
    Search,
    Screenshot,
}

/// A crawl.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Crawl {
    /// The page to begin with.
    url: String,
    /// The most pages. Default: 20.
    #[schemars(range(min = 1, max = 50))]
    pages: Option<u32>,
    /// A regular expression that the URLs of followed links must contain, such as `/docs/`.
    #[schemars(length(max = 500))]
    pattern: Option<String>,
    /// How many links away from the first page. Default: 2.
    #[schemars(range(min = 0, max = 3))]
    depth: Option<u32>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Open {
    /// The page: an http or https URL, or an HTML file of the workspace.
    url: String,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Screenshot {
    /// The page. Default: the one that is open.
    url: Option<String>,
    /// The picture's file in the workspace. Default: screenshot.png.
    path: Option<String>,
    /// Whether all of the page is shown, however long it is, and not the first screen alone.
    full_page: Option<bool>,
    /// A CSS selector, to show one element only.
    selector: Option<String>,
    /// Width of the window in pixels. Default: 1280.
    #[schemars(range(min = 200, max = 4000))]
    width: Option<u32>,
    /// Height of the window in pixels. Default: 900.
    #[schemars(range(min = 200, max = 4000))]
    height: Option<u32>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Search", deny_unknown_fields)]
pub(super) struct DomSearchArguments {
    /// The page. Default: the one that is open.
    url: Option<String>,
    /// A CSS selector.
    selector: Option<String>,
    /// Words that stand in the element, upper and lower case alike.
    text: Option<String>,
    /// How many elements to show. Default: 20.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Extract {
    /// What to extract.
    what: ExtractPart,
    /// The page. Default: the one that is open.
    url: Option<String>,
    /// A CSS selector, for the text, links or tables of one element only.
    selector: Option<String>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Part", rename_all = "snake_case")]
#[schemars(inline)]
enum ExtractPart {
    Text,
    Links,
    Tables,
    Forms,
    Metadata,
}
