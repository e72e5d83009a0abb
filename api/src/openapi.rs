//! The OpenAPI document, generated from the handlers.

mod answer;
mod enumeration;
mod free_form;
mod parameter;
mod stream;
mod union;

use actix_web::web::{Bytes, Data};
use actix_web::{App, HttpResponse};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{
    ComponentsBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, ServerBuilder,
};
use utoipa_actix_web::AppExt;

const DESCRIPTION: &str = "Jobs for agent skills: send a prompt and files, follow the job, and download its results.\n\n\
    Every request needs an API key: `Authorization: Bearer sk_…`. Every response has `X-Request-Id`, the client's own if it sent one. \
    JSON is compressed for clients that accept gzip. HEAD is supported wherever GET is. Whole numbers may be written \
    with a fraction or an exponent (`150.0`, `1e2`). Every error is a problem (RFC 9457) whose `code` is part \
    of this contract. Requests for resources of other tenants return 404.\n\n\
    The [guides](/docs/guides) explain jobs, skills, agents, clients and operation; each of the \
    [error codes](/docs/errors) has its own page.";

/// The groups of operations, the most important first.
const TAGS: [(&str, &str); 12] = [
    ("jobs", "Submit jobs, follow them, and read their results."),
    (
        "events",
        "Milestones of all jobs, as a stream and as pages.",
    ),
    ("assets", "Input and output files of jobs."),
    (
        "skills",
        "Skills that jobs can run: those of the service, and the tenant's own.",
    ),
    (
        "agents",
        "Agent definitions: system prompts, tools and limits, in versions.",
    ),
    (
        "conversations",
        "Message histories that several jobs of an agent share.",
    ),
    (
        "schedules",
        "Jobs that are created at times of a calendar or at fixed intervals.",
    ),
    ("webhooks", "Milestones of jobs, posted to other systems."),
    ("approvals", "Tool calls that wait for a person."),
    (
        "secrets",
        "Values that skills and agents may use and that cannot be read back.",
    ),
    ("models", "Models that jobs can name."),
    ("session", "The key of the request, and browser sessions."),
];
/// The group of operations for operators of the service.
const ADMIN: (&str, &str) = (
    "admin",
    "Keys, tenants, workers and the queue. For keys with the scope `admin`. A key with the scope `metrics` can only read the queue.",
);

/// Generates the OpenAPI document of this release.
pub fn document() -> OpenApi {
    let license = LicenseBuilder::new()
        .name(env!("CARGO_PKG_LICENSE"))
        .identifier(Some(env!("CARGO_PKG_LICENSE")))
        .build();
    let info = InfoBuilder::new()
        .title("Skillet")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(DESCRIPTION))
        .license(Some(license))
        .build();
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("An API key, `sk_…`"))
        .build();
    let base = OpenApiBuilder::new()
        .info(info)
        .servers(Some([ServerBuilder::new()
            .url("/")
            .description(Some("The service that serves this document"))
            .build()]))
        .tags(Some(TAGS.into_iter().chain([ADMIN]).map(
            |(name, description)| {
                TagBuilder::new()
                    .name(name)
                    .description(Some(description))
                    .build()
            },
        )))
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
    answer::name_statuses(&mut document.paths);
    if let Some(components) = &mut document.components {
        union::name_variants(components);
        enumeration::name_values(components);
        free_form::allow_any(components);
    }
    document
}

/// The document as text, in two versions of OpenAPI.
pub(crate) struct Rendered {
    version_3_1: Bytes,
    version_3_2: Bytes,
}

impl Rendered {
    /// Renders the document once, for all requests.
    pub(crate) fn of(document: &OpenApi) -> serde_json::Result<Self> {
        Ok(Self {
            version_3_1: document.to_pretty_json()?.into(),
            version_3_2: stream::in_version_3_2(document.clone())
                .to_pretty_json()?
                .into(),
        })
    }
}

/// Serves `/openapi.json`.
pub(crate) async fn get_document(document: Data<Rendered>) -> HttpResponse {
    json(document.version_3_1.clone())
}

/// Serves `/openapi-3.2.json`.
pub(crate) async fn get_document_3_2(document: Data<Rendered>) -> HttpResponse {
    json(document.version_3_2.clone())
}

fn json(text: Bytes) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("application/json")
        .body(text)
}
