//! The schemas of event data, for the OpenAPI document.

use std::borrow::Cow;

use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

/// An event type, with the schema of its data.
pub struct EventType {
    /// The name of the type, such as `tool.started`.
    pub name: &'static str,
    /// The name of the schema.
    pub data_schema: fn() -> Cow<'static, str>,
    /// Collects the schema and all schemas that it refers to.
    pub collect_schemas: fn(&mut Vec<(String, RefOr<Schema>)>),
}

impl EventType {
    pub(super) const fn of<T: ToSchema>(name: &'static str) -> Self {
        Self {
            name,
            data_schema: T::name,
            collect_schemas: |schemas| {
                schemas.push((T::name().into_owned(), T::schema()));
                T::schemas(schemas);
            },
        }
    }
}
