//! The OpenAPI document, generated from the handlers.

mod parameter;
mod union;

use actix_web::web::{Bytes, Data};
use actix_web::{App, HttpResponse};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, OpenApi, OpenApiBuilder};
use utoipa_actix_web::AppExt;

const DESCRIPTION: &str = "Jobs for agent skills: send a prompt and files, follow the work, download what it made.\n\n\
    Every request needs a key: `Authorization: Bearer sk_…`. HEAD is answered wherever GET is. Whole numbers may be written \
    with a fraction or an exponent (`150.0`, `1e2`). Every error is a problem (RFC 9457) whose `code` is part \
    of this contract. What belongs to another tenant does not exist.";

/// The document of this version.
pub fn document() -> OpenApi {
    let info = InfoBuilder::new()
        .title("Skillet")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(DESCRIPTION))
        .license(None)
        .build();
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("A key, `sk_…`"))
        .build();
    let base = OpenApiBuilder::new()
        .info(info)
        .security(Some([SecurityRequirement::new("key", [] as [&str; 0])]))
        .components(Some(
            ComponentsBuilder::new()
                .security_scheme("key", SecurityScheme::Http(bearer))
                .build(),
        ))
        .build();
    let (_, mut document) = App::new()
        .into_utoipa_app()
        .openapi(base)
        .service(crate::routes::v1())
        .split_for_parts();
    parameter::describe(&mut document.paths);
    if let Some(components) = &mut document.components {
        union::name_variants(components);
    }
    document
}

/// The document as text.
pub(crate) struct Rendered(Bytes);

impl Rendered {
    /// Rendered once, for all who ask.
    pub(crate) fn of(document: &OpenApi) -> serde_json::Result<Self> {
        Ok(Self(document.to_pretty_json()?.into()))
    }
}

/// `/openapi.json`
pub(crate) async fn get_document(document: Data<Rendered>) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("application/json")
        .body(document.0.clone())
}
