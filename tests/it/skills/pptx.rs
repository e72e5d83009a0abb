//! `pptx`: what python-pptx wrote, as LibreOffice draws it.

use super::made::{Made, can_run, refusal};
use crate::support::Service;

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
async fn it_takes_no_sound() {
    let service = Service::without_worker().await;
    let detail = refusal(&service, "pptx", "a.mp3", b"ID3\x03\0\0\0\0\0\0").await;
    assert_eq!(
        detail,
        "is audio/mpeg; the skill `pptx` takes: document, image"
    );
}
