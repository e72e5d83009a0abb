//! `/docs/`: the reference of the API, which Redoc renders in the browser, and the guides. All of it is served from
//! here.

pub(crate) mod guide;
mod layout;

use actix_web::http::header::{CACHE_CONTROL, ContentType};
use actix_web::{HttpResponse, get};

pub(crate) use layout::page;

const PAGE: &str = include_str!("docs/page.html");
const REDOC: &str = include_str!("../assets/redoc/redoc.standalone.js");

/// The page.
#[get("/")]
pub(crate) async fn get_page() -> HttpResponse {
    HttpResponse::Ok()
        .content_type(ContentType::html())
        .body(PAGE)
}

/// The program of the page. Its address has the version, so browsers keep it.
#[get("/redoc-2.5.4.js")]
pub(crate) async fn get_redoc() -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/javascript; charset=utf-8")
        .insert_header((CACHE_CONTROL, "public, max-age=31536000, immutable"))
        .body(REDOC)
}
