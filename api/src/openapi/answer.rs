//! Responses in the form that client generators need: each status is listed, every error is a problem, and common
//! headers are declared.

use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::Operation;
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{ContentBuilder, Paths, Ref, RefOr, Response};

/// The placeholder with which handlers declare error responses that need no description of their own.
const ANY_REFUSAL: &str = "4XX";

/// The error responses of every operation.
const ALWAYS: [(&str, &str); 5] = [
    ("400", "The request is malformed"),
    ("401", "The API key is missing or invalid"),
    ("403", "The key does not permit this operation"),
    ("500", "Internal error"),
    ("503", "The service is temporarily unavailable"),
];
/// The additional error responses of operations with a path parameter.
const WITH_PATH: [(&str, &str); 1] = [(
    "404",
    "The resource does not exist, or belongs to another tenant",
)];
/// The additional error responses of operations with a request body.
const WITH_BODY: [(&str, &str); 4] = [
    ("408", "The body arrived too slowly"),
    ("413", "The body is too large"),
    ("415", "The media type of the body is not supported"),
    ("422", "Fields of the body are invalid; `errors` lists them"),
];

/// Adds the error responses and the common headers to all operations.
pub(super) fn name_statuses(paths: &mut Paths) {
    for (path, item) in &mut paths.paths {
        let operations = [
            &mut item.get,
            &mut item.put,
            &mut item.post,
            &mut item.patch,
            &mut item.delete,
        ];
        for operation in operations.into_iter().flatten() {
            refuse(operation, path.contains('{'));
            let responses = operation.responses.responses.values_mut();
            responses.for_each(add_request_id);
        }
    }
}

fn refuse(operation: &mut Operation, has_parameter: bool) {
    let has_body = operation.request_body.is_some();
    let responses = &mut operation.responses.responses;
    responses.remove(ANY_REFUSAL);
    let mut named = ALWAYS.to_vec();
    named.extend(WITH_PATH.iter().filter(|_| has_parameter));
    named.extend(WITH_BODY.iter().filter(|_| has_body));
    named.push(("default", "Another error"));
    for (status, description) in named {
        let there = responses.contains_key(status);
        if !there {
            responses.insert(status.to_owned(), RefOr::T(problem(description)));
        }
    }
}

fn problem(description: &str) -> Response {
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name("Problem")))
        .build();
    ResponseBuilder::new()
        .description(description)
        .content("application/problem+json", content)
        .build()
}

fn add_request_id(response: &mut RefOr<Response>) {
    if let RefOr::T(response) = response {
        let header = HeaderBuilder::new()
            .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
            .description(Some(
                "The id of the request: the client's own, or a new one",
            ))
            .build();
        response
            .headers
            .insert("X-Request-Id".to_owned(), RefOr::T(header));
    }
}
