//! Routes that are not part of the API: for operators, the console and the documentation.

use actix_web::middleware::from_fn;
use actix_web::web::{self, ServiceConfig};

use crate::problem::pages;
use crate::{auth, console, docs, fallback, header, health, metrics, openapi};

/// Adds the unversioned routes.
pub(crate) fn configure(config: &mut ServiceConfig) {
    let metrics = web::resource("/metrics")
        .wrap(from_fn(auth::authenticate))
        .get(metrics::get_metrics)
        .default_service(web::to(fallback::no_route));
    let docs = web::scope("/docs")
        .wrap(header::defaults(header::DOCS))
        .service(pages::list_error_pages)
        .service(pages::get_error_page)
        .service(docs::guide::list_guides)
        .service(docs::guide::get_guide)
        .service(docs::get_page)
        .service(docs::get_redoc);
    let console = web::scope("/console")
        .wrap(header::console())
        .service(console::get_console);
    config
        .service(health::healthz)
        .service(health::readyz)
        .service(metrics)
        .route("/openapi.json", web::get().to(openapi::get_document))
        .route(
            "/openapi-3.2.json",
            web::get().to(openapi::get_document_3_2),
        )
        .service(web::redirect("/", "/console/"))
        .service(web::redirect("/console", "/console/"))
        .service(console)
        .service(web::redirect("/docs", "/docs/"))
        .service(docs);
}
