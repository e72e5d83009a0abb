//! Streams in OpenAPI 3.2, which has `itemSchema` for the events of a stream (Media Type Object, *Special
//! Considerations for Server-Sent Events*).

use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, OpenApi, OpenApiVersion, RefOr, Schema};

const EVENT_STREAM: &str = "text/event-stream";

/// Converts the document to OpenAPI 3.2: the schema of a stream is that of one server-sent event.
///
/// OpenAPI 3.1 has no such keyword. There, `schema` is the schema of the data of an event, as generators expect it.
pub(super) fn in_version_3_2(mut document: OpenApi) -> OpenApi {
    document.openapi = OpenApiVersion::Version32;
    for path in document.paths.paths.values_mut() {
        if let Some(get) = &mut path.get {
            describe_items(get);
        }
    }
    document
}

fn describe_items(operation: &mut Operation) {
    for response in operation.responses.responses.values_mut() {
        let RefOr::T(response) = response else {
            continue;
        };
        if let Some(RefOr::T(content)) = response.content.get_mut(EVENT_STREAM)
            && let Some(data) = content.schema.take()
        {
            content.item_schema = Some(RefOr::T(server_sent_event(data)));
        }
    }
}

/// Returns the schema of a server-sent event, as the HTML standard defines it: all fields are text, and `data` is JSON.
fn server_sent_event(data: RefOr<Schema>) -> Schema {
    let text = || ObjectBuilder::new().schema_type(Type::String);
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("id", text())
        .property("event", text())
        .property(
            "data",
            text()
                .content_media_type("application/json")
                .content_schema(Some(data)),
        )
        .required("id")
        .required("data")
        .into()
}
