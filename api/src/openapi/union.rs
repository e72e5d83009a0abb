//! Tagged unions in the form that client generators need: each variant is a named schema, and a discriminator maps the
//! values of the tag to the variants.

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::openapi::schema::Discriminator;
use utoipa::openapi::{Components, Object, Ref, RefOr, Schema};

/// Names the variants of every tagged union among the components.
pub(super) fn name_variants(components: &mut Components) {
    let mut named = BTreeMap::new();
    for (union_name, schema) in &mut components.schemas {
        let RefOr::T(Schema::OneOf(union)) = schema else {
            continue;
        };
        let tags: Option<Vec<_>> = union.items.iter().map(tag).collect();
        let Some(tags) = tags else {
            continue;
        };
        for (item, (property, value)) in union.items.iter_mut().zip(tags) {
            let name = variant_name(&value, union_name);
            let reference = Ref::from_schema_name(&name);
            let discriminator = union
                .discriminator
                .get_or_insert_with(|| Discriminator::new(property));
            discriminator
                .mapping
                .insert(value, reference.ref_location.clone());
            named.insert(name, std::mem::replace(item, RefOr::Ref(reference)));
        }
    }
    components.schemas.extend(named);
}

/// Returns the property that has exactly one possible value, and that value.
fn tag(variant: &RefOr<Schema>) -> Option<(String, String)> {
    match variant {
        RefOr::T(Schema::Object(object)) => tag_of_object(object),
        RefOr::T(Schema::AllOf(parts)) => parts.items.iter().find_map(tag),
        _ => None,
    }
}

fn tag_of_object(object: &Object) -> Option<(String, String)> {
    object.properties.iter().find_map(|(name, property)| {
        let RefOr::T(Schema::Object(property)) = property else {
            return None;
        };
        match property.enum_values.as_deref() {
            Some([Value::String(value)]) => Some((name.clone(), value.clone())),
            _ => None,
        }
    })
}

/// The schema name of a variant: `tool_call` of `Block` → `ToolCallBlock`.
fn variant_name(value: &str, union_name: &str) -> String {
    let words = value.split('_').map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    });
    words.chain([union_name.to_owned()]).collect()
}
