//! The layout of the text pages under `/docs`.

use actix_web::HttpResponse;
use actix_web::http::header::ContentType;

const STYLE: &str = include_str!("layout.css");

/// Renders a page. `title` is escaped text, and `body` is HTML.
pub(crate) fn page(title: &str, body: &str) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(ContentType::html())
        .body(format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title} · Skillet</title>\
             <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head><body>\
             <nav><a href=\"/docs/\">API reference</a><a href=\"/docs/guides\">Guides</a>\
             <a href=\"/docs/errors\">Error codes</a></nav><main>{body}</main></body></html>\n"
        ))
}
