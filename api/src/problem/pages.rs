//! `/docs/errors`: a page for each error code.

use actix_web::web::Path;
use actix_web::{HttpResponse, get};

use super::{ApiError, ErrorCode};
use crate::docs::page;

/// Shows the page of an error code.
#[get("/errors/{code}")]
pub(crate) async fn get_error_page(code: Path<String>) -> Result<HttpResponse, ApiError> {
    let code = ErrorCode::of(&code).ok_or(ApiError::NotFound("path"))?;
    let [title, meaning, remedy] = code.explanation().map(markup);
    let body = format!(
        "<h1>{title}</h1><p><code>{}</code>, status {}</p><h2>Meaning</h2><p>{meaning}</p><h2>What to do</h2><p>{remedy}</p>\
         <p><a href=\"/docs/errors\">All error codes</a></p>",
        code.as_str(),
        code.status().as_u16(),
    );
    Ok(page(code.as_str(), &body))
}

/// Lists all error codes.
#[get("/errors")]
pub(crate) async fn list_error_pages() -> HttpResponse {
    let rows = ErrorCode::ALL.iter().map(|code| {
        let [title, ..] = code.explanation().map(markup);
        let (name, status) = (code.as_str(), code.status().as_u16());
        format!(
            "<tr><td>{status}</td><td><a href=\"/docs/errors/{name}\"><code>{name}</code></a></td><td>{title}</td></tr>"
        )
    });
    let rows: String = rows.collect();
    let body = format!(
        "<h1>Error codes</h1><p>Every error is a problem (RFC 9457). Its <code>type</code> is the address of a page here, and \
         its <code>code</code> is part of the contract.</p>\
         <table><tr><th>Status</th><th>Code</th><th>Meaning</th></tr>{rows}</table>"
    );
    page("Error codes", &body)
}

/// Converts plain text with code in backticks to HTML.
fn markup(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
    let mut html = String::new();
    for (place, part) in escaped.split('`').enumerate() {
        if place % 2 == 1 {
            html += &format!("<code>{part}</code>");
        } else {
            html += part;
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_ticks_mark_code() {
        assert_eq!(markup("Use `a<b` & go"), "Use <code>a&lt;b</code> &amp; go");
        for code in ErrorCode::ALL {
            let ticks = code.explanation().concat().matches('`').count();
            assert_eq!(ticks % 2, 0, "{code:?}");
            assert_eq!(ErrorCode::of(code.as_str()), Some(*code));
        }
    }
}
