//! `pptx`: output of python-pptx, rendered by LibreOffice.

use serde_json::json;

use super::made::{Made, Picture, can_run, has_module};
use crate::support::{Service, bash};

const POWERPOINT: &str =
    "application/vnd.openxmlformats-officedocument.presentationml.presentation";

#[tokio::test]
async fn a_deck_has_titles_native_charts_and_notes_and_no_blank_slide() {
    let service = Service::start().await;
    if !can_run(&service, "pptx", &["soffice", "pdftotext"]).await {
        return;
    }
    let prompt = include_str!("../../../cli/src/demo/pptx.md");
    let made = Made::of_bakery(&service, "pptx", prompt).await;
    assert_eq!(made.outputs(), [("bakery.pptx", POWERPOINT)]);
    let slides = made.pages_of_office_file("bakery.pptx");
    assert_eq!(slides.len(), 5);
    for slide in slides {
        assert_eq!((slide.width, slide.height), (534, 300));
        assert!(slide.ink() > 0.01, "{}", slide.ink());
    }
    let text = made.ask("pdftotext", &["bakery.pdf", "-"]);
    for words in [
        "Coffee grew by a third",
        "+35.9%",
        "10,022",
        "What to do in 2026",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    let parts = made.ask("python3", &["-m", "zipfile", "-l", "bakery.pptx"]);
    let count = |part: &str| parts.lines().filter(|line| line.starts_with(part)).count();
    assert_eq!(
        (
            count("ppt/charts/chart"),
            count("ppt/notesSlides/notesSlide")
        ),
        (3, 5)
    );
}

#[tokio::test]
async fn what_the_package_of_node_wrote_is_read_by_the_one_of_python() {
    let service = Service::start().await;
    let skill = "pptx";
    if !can_run(&service, skill, &["soffice"]).await
        || !has_module(&service, skill, "node:pptxgenjs").await
    {
        return;
    }
    let write = r##"node - <<'END'
const deck = new (require("pptxgenjs"))()
deck.layout = "LAYOUT_WIDE"
const first = deck.addSlide()
first.addText("Forty rolls", { x: 1, y: 1, w: 8, h: 1, fontSize: 40 })
first.addNotes("Say it slowly.")
const second = deck.addSlide()
second.addChart(deck.charts.BAR, [{ name: "Rolls", labels: ["Monday", "Tuesday"], values: [40, 30] }], { x: 1, y: 1, w: 8, h: 5 })
deck.writeFile({ fileName: "rolls.pptx" })
END"##;
    let prompt = format!("{}\noutput document: rolls.pptx", bash(write));
    let made = Made::of(&service, skill, &prompt, &[], json!({})).await;
    assert_eq!(made.outputs(), [("rolls.pptx", POWERPOINT)]);
    let read = made.ask_python(
        "import pptx\na, b = pptx.Presentation('rolls.pptx').slides\n\
         print([s.text_frame.text for s in a.shapes if s.has_text_frame], a.notes_slide.notes_text_frame.text)\n\
         chart = next(s.chart for s in b.shapes if s.has_chart)\n\
         print(list(chart.plots[0].categories), list(chart.plots[0].series[0].values))",
    );
    assert_eq!(
        read,
        "['Forty rolls'] Say it slowly.\n['Monday', 'Tuesday'] [40.0, 30.0]\n"
    );
    let slides = made.pages_of_office_file("rolls.pptx");
    let ink: Vec<_> = slides.iter().map(Picture::ink).collect();
    assert!(ink.len() == 2 && ink[0] > 0.001 && ink[1] > 0.01, "{ink:?}");
}
