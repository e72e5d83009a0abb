//! Hostile files for `look_at`.

use std::net::TcpListener;

use serde_json::{Value, json};
use tests::model_server::Reply;

use super::{BOTH, PDF, images, job, look, png, service, size, with_file};
use crate::support::log::data;
use crate::support::{Service, has_program};

/// A small PNG of 30,000 × 30,000 pixels.
const BOMB: &str = "89504e470d0a1a0a0000000d4948445200007530000075300802000000e9456fed0000000b49444154789c6360\
    c00700001e0001f6fde9960000000049454e44ae426082";

/// Looks at a file. Returns the result, and the sizes of the images that the model received.
async fn looked_at(service: &Service, name: &str, content: Vec<u8>) -> (Value, Vec<(u32, u32)>) {
    let marker = format!("hostile-{}", name.replace('.', "-"));
    service
        .model
        .script(&marker, [look(name), Reply::text("Done.")]);
    let body = with_file(service, job(BOTH[0], &marker), name, content).await;
    let ended = service.run(&body).await;
    assert_eq!(ended["text"], "Done.", "{ended:#}\n{}", service.logs());
    let events = service.events(ended["id"].as_str().unwrap()).await;
    let requests = service.model.requests(&marker);
    let seen = images(&requests[1])
        .iter()
        .map(|image| size(image))
        .collect();
    (data(&events, "tool.completed")[0].clone(), seen)
}

#[tokio::test]
async fn images_that_are_none_or_too_large_are_refused_with_the_reason() {
    let service = service().await;
    let bomb = hex::decode(BOMB).unwrap();
    let cases = [
        ("bomb.png", bomb, "it has too many pixels"),
        (
            "cut.png",
            png(40, 40)[..60].to_vec(),
            "it cannot be read as an image",
        ),
        (
            "list.bin",
            vec![0, 159, 146, 150],
            "cannot be displayed: it is application/octet-stream",
        ),
        (
            "none.zip",
            b"PK\x03\x04\x14\0\0\0".to_vec(),
            "cannot be displayed: it is",
        ),
    ];
    for (name, content, words) in cases {
        let (result, seen) = looked_at(&service, name, content).await;
        assert_eq!(
            (&result["outcome"], seen.len()),
            (&json!("error"), 0),
            "{result}"
        );
        assert!(
            result["output"].as_str().unwrap().contains(words),
            "{result}"
        );
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_drawing_loads_nothing_and_is_no_larger_than_it_may_be() {
    if !has_program("rsvg-convert") {
        return;
    }
    let service = service().await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let drawing = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='900000' height='300000'><rect width='9' height='9'/>\
         <image href='http://127.0.0.1:{port}/x.png' width='9' height='9'/><image href='/etc/passwd'/></svg>"
    );
    let (result, seen) = looked_at(&service, "large.svg", drawing.into()).await;
    assert_eq!(result["outcome"], "ok", "{result}");
    assert!(seen[0].0 <= 1568 && seen[0].1 <= 1568, "{seen:?}");
    assert!(listener.accept().is_err(), "nobody asked for the image");
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_page_of_a_kilometre_is_shown_small_and_a_broken_document_is_none() {
    if !has_program("pdftoppm") {
        return;
    }
    let service = service().await;
    let large = PDF.replace("[0 0 200 100]", "[0 0 2834645 2834645]");
    let (result, seen) = looked_at(&service, "large.pdf", large.into()).await;
    assert_eq!(result["outcome"], "ok", "{result}");
    assert!(seen[0].0 <= 1568 && seen[0].1 <= 1568, "{seen:?}");
    let (result, seen) = looked_at(&service, "broken.pdf", b"%PDF-1.4\nnothing".to_vec()).await;
    assert_eq!(
        (&result["outcome"], seen.len()),
        (&json!("error"), 0),
        "{result}"
    );
    let words = result["output"].as_str().unwrap();
    assert!(
        words.starts_with("pdfinfo could not read the file: "),
        "{words}"
    );
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_text_loads_nothing_and_a_broken_book_is_none() {
    if !has_program("chromium") || !has_program("pandoc") {
        return;
    }
    let service = service().await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let image = format!("![x](http://127.0.0.1:{port}/x.png)\n\n");
    let text = image + "# Safe\n";
    let (result, seen) = looked_at(&service, "page.md", text.into()).await;
    assert_eq!(
        (&result["outcome"], seen.len()),
        (&json!("ok"), 1),
        "{result}"
    );
    assert!(listener.accept().is_err(), "nobody asked for the image");
    let (result, seen) = looked_at(&service, "none.epub", b"PK\x03\x04\x14\0\0\0".to_vec()).await;
    let words = result["output"].as_str().unwrap();
    assert_eq!(
        (words.contains("the archive cannot be unpacked"), seen.len()),
        (true, 0),
        "{words}"
    );
    assert_eq!(service.model.violations(), [""; 0]);
}
