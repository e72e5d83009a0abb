//! Routes that are not part of the API: for operators, and the documentation.

use actix_web::middleware::from_fn;
use actix_web::web::{self, ServiceConfig};
use utoipa_swagger_ui::{Config, SwaggerUi};

use crate::problem::pages;
use crate::{auth, fallback, header, health, metrics, openapi};

/// Adds these routes.
pub(crate) fn configure(config: &mut ServiceConfig) {
    let metrics = web::resource("/metrics")
        .wrap(from_fn(auth::authenticate))
        .get(metrics::get_metrics)
        .default_service(web::to(fallback::no_route));
    let docs = web::scope("/docs")
        .wrap(header::defaults(header::DOCS))
        .service(pages::list_error_pages)
        .service(pages::get_error_page)
        .service(docs());
    config
        .service(health::healthz)
        .service(health::readyz)
        .service(metrics)
        .route("/openapi.json", web::get().to(openapi::get_document))
        .service(web::redirect("/", "/docs/"))
        .service(web::redirect("/docs", "/docs/"))
        .service(docs);
}

/// The document for people, all of it served from here.
fn docs() -> SwaggerUi {
    // Otherwise the page sends the document's address to swagger.io to have it checked.
    let config = Config::new(["/openapi.json"]).validator_url("none");
    SwaggerUi::new("/{_:.*}").config(config)
}
