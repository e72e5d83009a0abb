//! `document`: output of pandoc, checked with LibreOffice and `unzip`.

use serde_json::json;

use super::made::{Made, can_run, refusal};
use crate::support::{Service, bash};

#[tokio::test]
async fn notes_become_an_office_file_and_a_book() {
    let service = Service::start().await;
    if !can_run(&service, "document", &["soffice", "pdftotext"]).await {
        return;
    }
    let prompt = include_str!("../../../cli/src/demo/document.md");
    let made = Made::of_bakery(&service, "document", prompt).await;
    let expected = [
        ("bakery.odt", "application/vnd.oasis.opendocument.text"),
        ("bakery.epub", "application/epub+zip"),
    ];
    assert_eq!(made.outputs(), expected);
    let pages = made.pages_of_office_file("bakery.odt");
    assert_eq!(pages.len(), 1);
    assert_eq!((pages[0].width, pages[0].height), (331, 468));
    assert!(pages[0].ink() > 0.02, "{}", pages[0].ink());
    let text = made.ask("pdftotext", &["-layout", "bakery.pdf", "-"]);
    for words in [
        "Two years of the bakery",
        "+35.9 %",
        "161,006",
        "August: Closed",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    let book = made.ask("python3", &["-m", "zipfile", "-l", "bakery.epub"]);
    assert!(
        book.contains("EPUB/nav.xhtml") && book.contains("EPUB/content.opf"),
        "{book}"
    );
}

#[tokio::test]
async fn a_word_file_becomes_markdown_and_a_page_for_print() {
    let service = Service::start().await;
    if !can_run(&service, "document", &["soffice", "pdfinfo"]).await {
        return;
    }
    let prompt = [
        bash(
            "printf '# Ä title\\n\\nSome *words*[^1].\\n\\n[^1]: A note.\\n' | pandoc -f markdown -s -M title=T -o in.docx",
        ),
        bash(
            "pandoc in.docx -t gfm --wrap=none -o out.md && soffice --headless --convert-to pdf in.docx > /dev/null 2>&1",
        ),
        "output document: out.md\noutput document: in.pdf".to_owned(),
    ];
    let made = Made::of(&service, "document", &prompt.join("\n"), &[], json!({})).await;
    let markdown = std::fs::read_to_string(made.path("out.md")).unwrap();
    assert_eq!(
        markdown,
        "# Ä title\n\nSome *words*[^1].\n\n[^1]: A note.\n"
    );
    assert!(
        made.ask("pdfinfo", &["in.pdf"])
            .contains("Pages:           1")
    );
}

#[tokio::test]
async fn it_takes_no_sound() {
    let service = Service::without_worker().await;
    let detail = refusal(&service, "document", "a.mp3", b"ID3\x03\0\0\0\0\0\0").await;
    assert_eq!(
        detail,
        "is audio/mpeg; the skill `document` takes: document, image, html"
    );
}
