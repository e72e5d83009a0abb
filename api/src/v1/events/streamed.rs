//! The schema of the event data of a tenant's stream.

use shared::feed::FeedEvent;
use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// The data of an event of a tenant's stream: a milestone, or the data of the event `cursor`.
pub(super) struct StreamedEvent;

/// Data of `cursor`. All later events of the stream come after this cursor.
#[derive(ToSchema)]
pub(super) struct StreamedCursor {
    /// The cursor, for `after` and `Last-Event-ID`.
    #[expect(dead_code, reason = "only its schema is used")]
    cursor: String,
}

impl PartialSchema for StreamedEvent {
    fn schema() -> RefOr<Schema> {
        // The two schemas have no common property that tells them apart.
        let schema = AnyOfBuilder::new()
            .item(Ref::from_schema_name(FeedEvent::name()))
            .item(Ref::from_schema_name(StreamedCursor::name()))
            .description(Some("A milestone, or the data of the event `cursor`."));
        RefOr::T(schema.build().into())
    }
}

impl ToSchema for StreamedEvent {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        for (name, schema) in [
            (FeedEvent::name(), FeedEvent::schema()),
            (StreamedCursor::name(), StreamedCursor::schema()),
        ] {
            schemas.push((name.into_owned(), schema));
        }
        FeedEvent::schemas(schemas);
    }
}
