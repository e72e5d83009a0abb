//! Objects with any properties. `additionalProperties: true` means the same as an empty schema, but generators produce
//! simpler types from it, such as `map[string]interface{}` in Go.

use utoipa::openapi::schema::{AdditionalProperties, ArrayItems, SchemaType};
use utoipa::openapi::{Components, RefOr, Schema};

/// Writes `additionalProperties: true` for every object whose values may be anything.
pub(super) fn allow_any(components: &mut Components) {
    components.schemas.values_mut().for_each(simplify);
}

fn simplify(schema: &mut RefOr<Schema>) {
    let RefOr::T(schema) = schema else {
        return;
    };
    match schema {
        Schema::Object(object) => {
            if object.additional_properties.as_deref().is_some_and(is_any) {
                object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(true)));
                // Property names are always strings.
                object.property_names = None;
            }
            object.properties.values_mut().for_each(simplify);
        }
        Schema::Array(array) => {
            if let ArrayItems::RefOrSchema(items) = &mut array.items {
                simplify(items);
            }
        }
        Schema::OneOf(union) => union.items.iter_mut().for_each(simplify),
        Schema::AnyOf(union) => union.items.iter_mut().for_each(simplify),
        Schema::AllOf(parts) => parts.items.iter_mut().for_each(simplify),
        _ => {}
    }
}

fn is_any(values: &AdditionalProperties<Schema>) -> bool {
    let AdditionalProperties::RefOr(RefOr::T(Schema::Object(values))) = values else {
        return false;
    };
    values.schema_type == SchemaType::AnyValue && values.enum_values.is_none()
}
