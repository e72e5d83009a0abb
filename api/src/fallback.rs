//! What no route takes: a path that there is not, or a method that its path does not know.

use std::collections::BTreeMap;

use actix_web::http::header::ALLOW;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use utoipa::openapi::{OpenApi, PathItem};

use crate::problem::ApiError;

/// The methods of each path, as the header `Allow` lists them.
pub(crate) struct Methods(BTreeMap<String, String>);

impl Methods {
    /// Those of the documented paths.
    pub(crate) fn of(document: &OpenApi) -> Self {
        let paths = document.paths.paths.iter();
        Self(
            paths
                .map(|(path, item)| (path.clone(), list(item)))
                .collect(),
        )
    }
}

/// The routes look at path and method at once, so all they say is that neither fits together.
pub(crate) async fn no_route(
    request: HttpRequest,
    methods: Data<Methods>,
) -> Result<HttpResponse, ApiError> {
    let path = request.match_pattern().ok_or(ApiError::NotFound("path"))?;
    // What is not in the document is there to be read.
    let allowed = methods.0.get(&path).map_or("GET", String::as_str);
    Ok(HttpResponse::MethodNotAllowed()
        .insert_header((ALLOW, allowed))
        .finish())
}

fn list(item: &PathItem) -> String {
    let methods = [
        ("GET", &item.get),
        ("HEAD", &item.head),
        ("POST", &item.post),
        ("PUT", &item.put),
        ("PATCH", &item.patch),
        ("DELETE", &item.delete),
    ];
    let known = methods
        .into_iter()
        .filter(|(_, operation)| operation.is_some());
    let names: Vec<_> = known.map(|(name, _)| name).collect();
    names.join(", ")
}
