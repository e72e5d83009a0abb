//! `/docs/`: the API reference, which Redoc renders in the browser, and the guides. All files are embedded in the
//! program.

pub(crate) mod guide;
mod layout;

use actix_web::http::header::{CACHE_CONTROL, ContentType};
use actix_web::{HttpResponse, get};

pub(crate) use layout::page;

const PAGE: &str = include_str!("docs/page.html");
const REDOC: &str = include_str!("../assets/redoc/redoc.standalone.js");

/// Returns the page of the API reference.
#[get("/")]
pub(crate) async fn get_page() -> HttpResponse {
    HttpResponse::Ok()
        .content_type(ContentType::html())
        .body(PAGE)
}

/// Returns the Redoc script. Its URL contains the version, so browsers can cache it.
#[get("/redoc-2.5.4.js")]
pub(crate) async fn get_redoc() -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/javascript; charset=utf-8")
        .insert_header((CACHE_CONTROL, "public, max-age=31536000, immutable"))
        .body(REDOC)
}
