//! The OpenAPI schema of events.

use std::borrow::Cow;

use serde_json::json;
use shared::event::EventData;
use utoipa::openapi::schema::{
    Discriminator, KnownFormat, ObjectBuilder, OneOfBuilder, SchemaFormat, Type,
};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// The schema of a replayed event: a union with the discriminator `type`.
pub(crate) struct EventSchema;

impl PartialSchema for EventSchema {
    fn schema() -> RefOr<Schema> {
        let mut union = OneOfBuilder::new().description(Some("An entry of a job's log."));
        let mut discriminator = Discriminator::new("type");
        for event in EventData::TYPES {
            let reference = Ref::from_schema_name(event_name(event.name));
            discriminator
                .mapping
                .insert(event.name.to_owned(), reference.ref_location.clone());
            union = union.item(reference);
        }
        union.discriminator(Some(discriminator)).into()
    }
}

impl ToSchema for EventSchema {
    fn name() -> Cow<'static, str> {
        "Event".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        for event in EventData::TYPES {
            (event.collect_schemas)(schemas);
            schemas.push((
                event_name(event.name),
                envelope(event.name, &(event.data_schema)()),
            ));
        }
    }
}

/// The schema name of an event type: `tool.started` → `ToolStartedEvent`.
fn event_name(kind: &str) -> String {
    let words = kind.split('.').map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    });
    words.chain(["Event".to_owned()]).collect()
}

fn envelope(kind: &str, data: &str) -> RefOr<Schema> {
    let integer = |format, description: &str| {
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(format)))
            .description(Some(description))
    };
    ObjectBuilder::new()
        .property(
            "seq",
            integer(
                KnownFormat::Int64,
                "The sequence number in the log, from 1 without gaps",
            ),
        )
        .property(
            "type",
            ObjectBuilder::new()
                .schema_type(Type::String)
                .enum_values(Some([json!(kind)])),
        )
        .property(
            "at",
            ObjectBuilder::new()
                .schema_type(Type::String)
                .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
                .description(Some("The commit time")),
        )
        .property(
            "attempt",
            integer(
                KnownFormat::Int32,
                "The attempt that wrote the event; 0 before the first attempt",
            ),
        )
        .property("data", Ref::from_schema_name(data))
        .required("seq")
        .required("type")
        .required("at")
        .required("attempt")
        .required("data")
        .into()
}
