//! `/console/`: the web console, which is embedded in the program.

mod file;

use std::sync::LazyLock;

use actix_web::http::header::{CACHE_CONTROL, CONTENT_ENCODING, ETAG, IF_NONE_MATCH, VARY};
use actix_web::web::Path;
use actix_web::{HttpRequest, HttpResponse, get};
use include_dir::{Dir, include_dir};

use crate::compress::accepts_gzip;
use crate::etag;
use crate::problem::ApiError;
use file::{ConsoleFile, ConsoleFiles};

/// The output of `console/build.mjs`.
static BUILT: Dir = include_dir!("$CARGO_MANIFEST_DIR/../console/dist");
static FILES: LazyLock<ConsoleFiles> = LazyLock::new(|| ConsoleFiles::embedded(&BUILT));
/// The page of all views. The URL selects the view.
const PAGE: &str = "index.html";

/// Returns a file of the console. A path without a dot is a view and returns the page.
#[get("/{path:.*}")]
pub(crate) async fn get_console(
    request: HttpRequest,
    path: Path<String>,
) -> Result<HttpResponse, ApiError> {
    let is_view = !path.contains('.');
    let name = if is_view { PAGE } else { path.as_str() };
    // A debug build serves the latest files from disk.
    let fresh = if cfg!(debug_assertions) {
        ConsoleFile::from_disk(name)
    } else {
        None
    };
    let file = fresh.as_ref().or_else(|| FILES.get(name));
    let file = file.ok_or(ApiError::NotFound("path"))?;
    Ok(answer(&request, file))
}

fn answer(request: &HttpRequest, file: &ConsoleFile) -> HttpResponse {
    let known = request.headers().get(IF_NONE_MATCH);
    let known = known.and_then(|tags| tags.to_str().ok());
    let is_known = known.is_some_and(|tags| etag::any(tags, |tag| etag::is_same(tag, &file.tag)));
    let mut answer = if is_known {
        HttpResponse::NotModified()
    } else {
        HttpResponse::Ok()
    };
    answer
        .insert_header((ETAG, file.tag.as_str()))
        .insert_header((CACHE_CONTROL, "no-cache"))
        .insert_header((VARY, "Accept-Encoding"));
    if is_known {
        return answer.finish();
    }
    answer.content_type(file.content_type);
    if accepts_gzip(request.headers()) {
        answer.insert_header((CONTENT_ENCODING, "gzip"));
        answer.body(file.gzipped.clone())
    } else {
        answer.insert_header((CONTENT_ENCODING, "identity"));
        answer.body(file.content.clone())
    }
}
