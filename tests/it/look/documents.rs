//! Documents, pages and videos, and images from other tools.

use serde_json::{Value, json};
use tests::model_server::Reply;

use super::{BOTH, images, job, look, png, service, size, with_file};
use crate::support::log::data;
use crate::support::{Service, has_program};

/// Runs the calls of one job, one per reply. Returns the outputs of the calls, and the images in the last request.
async fn looked(
    service: &Service,
    marker: &str,
    body: Value,
    calls: Vec<Reply>,
) -> (Vec<String>, Vec<Vec<u8>>) {
    let replies = calls.into_iter().chain([Reply::text("Done.")]);
    service.model.script(marker, replies);
    let ended = service.run(&body).await;
    assert_eq!(ended["text"], "Done.", "{ended:#}\n{}", service.logs());
    let events = service.events(ended["id"].as_str().unwrap()).await;
    let said = data(&events, "tool.completed").into_iter();
    let said = said.map(|data| data["output"].as_str().unwrap().to_owned());
    let requests = service.model.requests(marker);
    assert_eq!(service.model.violations(), [""; 0]);
    (said.collect(), images(requests.last().unwrap()))
}

#[tokio::test]
async fn a_document_is_shown_as_it_is_printed_and_an_archive_that_is_too_large_is_not() {
    if !has_program("soffice") || !has_program("pdftoppm") {
        return;
    }
    let service = service().await;
    let letter =
        r"{\rtf1\ansi{\fonttbl\f0 Arial;}\f0\fs48 Dear tea lover\par\page Second page\par}";
    let body = with_file(&service, job(BOTH[0], "letter"), "letter.rtf", letter).await;
    let bomb = "python3 -c \"import zipfile\nwith zipfile.ZipFile('b.docx', 'w', zipfile.ZIP_DEFLATED) as z, \
                z.open('word/document.xml', 'w') as f:\n  for _ in range(420): f.write(bytes(10**6))\"";
    let calls = vec![
        look("letter.rtf"),
        Reply::call("look_at", json!({"path": "letter.rtf", "pages": "1"})),
        Reply::call("shell_exec", json!({"command": bomb})),
        look("b.docx"),
    ];
    let (said, seen) = looked(&service, "letter", body, calls).await;
    assert!(
        said[0].starts_with("letter.rtf: 2 pages; 2 on a contact sheet"),
        "{}",
        said[0]
    );
    assert!(said[1].contains(": Dear tea lover"), "{}", said[1]);
    assert!(
        said[3].contains("unpacks to 420000000 bytes"),
        "{}",
        said[3]
    );
    assert_eq!(seen.len(), 2);
    assert_eq!(size(&seen[1]).1, 1568);
}

#[tokio::test]
async fn a_page_is_shown_in_screens_of_the_width_that_was_asked_for() {
    if !has_program("chromium") {
        return;
    }
    let service = service().await;
    let page = "<!doctype html><body style='margin:0'><h1>Tea</h1><div style='width:700px;height:1500px'>wide</div>\
                <img src='none.png'>";
    let body = with_file(&service, job(BOTH[1], "page"), "page.html", page).await;
    let calls = vec![
        Reply::call("look_at", json!({"path": "page.html", "width": 390})),
        Reply::call(
            "look_at",
            json!({"path": "page.html", "width": 1200, "pages": "2"}),
        ),
        Reply::call(
            "take_screenshot",
            json!({"url": "page.html", "full_page": true, "width": 400}),
        ),
    ];
    let (said, seen) = looked(&service, "page", body, calls).await;
    for words in [
        "page.html: 3 screens; 3 on a contact sheet",
        "310 px wider than the window",
        "1 images are broken",
    ] {
        assert!(said[0].contains(words), "{words}: {}", said[0]);
    }
    assert!(said[1].contains("screen 2: "), "{}", said[1]);
    assert!(
        said[2].contains("\"path\":\"screenshot.png\""),
        "{}",
        said[2]
    );
    assert_eq!(seen.len(), 3);
    assert_eq!(size(&seen[1]).0, 1200);
}

#[tokio::test]
async fn frames_of_a_film_come_with_their_times() {
    if !has_program("ffmpeg") {
        return;
    }
    let service = service().await;
    let film = "ffmpeg -v error -f lavfi -i testsrc=d=3:s=320x180:r=5 -pix_fmt yuv420p film.mp4";
    let calls = vec![
        Reply::call("shell_exec", json!({"command": film})),
        look("film.mp4"),
        Reply::call("look_at", json!({"path": "film.mp4", "pages": "1.5"})),
        Reply::call("look_at", json!({"path": "film.mp4", "pages": "9"})),
    ];
    let (said, seen) = looked(&service, "film", job(BOTH[0], "film"), calls).await;
    assert!(
        said[1].contains("320 × 180 px, 3.0 s") && said[1].contains("second 0:01.5: "),
        "{}",
        said[1]
    );
    assert!(said[2].contains("second 0:01.5: "), "{}", said[2]);
    assert!(said[3].contains("within the video's 3.0 s"), "{}", said[3]);
    assert_eq!(seen.len(), 2);
}

#[tokio::test]
async fn a_tall_image_is_shown_in_parts() {
    let service = service().await;
    let body = with_file(&service, job(BOTH[0], "tall"), "tall.png", png(500, 2600)).await;
    let (said, seen) = looked(&service, "tall", body, vec![look("tall.png")]).await;
    assert!(
        said[0].contains("500 × 2600 px") && said[0].contains("shown in 6 parts"),
        "{}",
        said[0]
    );
    let (width, height) = size(&seen[0]);
    assert!(width > height / 2, "{width} × {height}");
}

/// Creates a Markdown, CSV, JSON, font, audio and EPUB file.
const MAKE: &str = r##"set -e
printf -- '---\ntitle: x\n---\n# Tea sales\n\n- [x] green\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n![grey](grey.png)\n' > a.md
printf 'month;sum;note\n2024-01;1.200,50;"a;b"\n2024-02;980\n' > t.csv
printf '{"tea": "<b>green</b>"}\n' > d.json
cp /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf f.ttf
ffmpeg -v error -f lavfi -i sine=d=2 s.wav
python3 - <<'P'
import zipfile
with zipfile.ZipFile("b.epub", "w") as book:
    book.writestr("mimetype", "application/epub+zip")
    book.writestr("META-INF/container.xml", '<container><rootfiles><rootfile full-path="E/b.opf"/></rootfiles></container>')
    book.writestr("E/b.opf", '<package xmlns:dc="d"><metadata><dc:title>Tea book</dc:title></metadata><manifest>'
                  '<item id="a" href="t/a.xhtml"/><item id="b" href="t/b%20.xhtml"/><item id="c" href="../../c.xhtml"/></manifest>'
                  '<spine><itemref idref="a"/><itemref idref="b"/><itemref idref="c"/></spine></package>')
    for name in ("a", "b "):
        book.writestr(f"E/t/{name}.xhtml", '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>t</title></head>'
                      f"<body><h1>Chapter {name}</h1></body></html>")
P
"##;

#[tokio::test]
async fn texts_tables_books_fonts_and_sounds_are_shown_as_people_see_them() {
    let programs = ["chromium", "pandoc", "pdftoppm", "ffmpeg"];
    if !programs.iter().all(|name| has_program(name)) {
        return;
    }
    let service = service().await;
    let body = with_file(&service, job(BOTH[1], "kinds"), "grey.png", png(64, 48)).await;
    let names = ["a.md", "t.csv", "d.json", "b.epub", "f.ttf", "s.wav"];
    let calls = [Reply::call("shell_exec", json!({"command": MAKE}))];
    let calls = calls.into_iter().chain(names.map(look)).collect();
    let (said, seen) = looked(&service, "kinds", body, calls).await;
    for (number, words) in [
        (1, &["a.md: 1 screen", ": Tea sales"][..]),
        (
            2,
            &["3 rows, 3 columns", "the first is row 3", ": 1.200,50"],
        ),
        (3, &["d.json: 1 screen", ": {\"tea\": \"<b>green</b>\"}"]),
        (
            4,
            &[
                "b.epub: 2 pages",
                "title: Tea book; author: none; language: none; 2 documents; no cover picture",
                "the spine names ../../c.xhtml, which is missing",
            ],
        ),
        (5, &["DejaVu Sans Book: ", "most LATIN"]),
        (
            6,
            &["2.0 s, pcm_s16le, 44100 Hz, 1 channels", "mean volume"],
        ),
    ] {
        for words in words {
            assert!(said[number].contains(words), "{words}: {}", said[number]);
        }
    }
    assert!(!said[1].contains("broken"), "{}", said[1]);
    assert_eq!(seen.len(), names.len());
}
