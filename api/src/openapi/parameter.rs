//! Parameters in the form that client generators need: optional parameters are never null, and parameters with the same
//! name have the same bounds.

use utoipa::Number;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::schema::{Object, SchemaType, Type};
use utoipa::openapi::{Paths, RefOr, Schema};

/// Sets the types and bounds of the parameters of all operations.
pub(super) fn describe(paths: &mut Paths) {
    for path in paths.paths.values_mut() {
        let operations = [
            &mut path.get,
            &mut path.put,
            &mut path.post,
            &mut path.patch,
            &mut path.delete,
        ];
        for operation in operations.into_iter().flatten() {
            for parameter in parameters(operation) {
                let place = &parameter.parameter_in;
                if let Some(RefOr::T(Schema::Object(schema))) = &mut parameter.schema {
                    deny_null(schema);
                    bound(place, &parameter.name, schema);
                }
            }
        }
    }
}

fn parameters(operation: &mut Operation) -> impl Iterator<Item = &mut Parameter> {
    let all = operation.parameters.iter_mut().flatten();
    all.filter_map(|parameter| match parameter {
        RefOr::T(parameter) => Some(parameter),
        RefOr::Ref(_) => None,
    })
}

fn deny_null(schema: &mut Object) {
    if let SchemaType::Array(types) = &mut schema.schema_type {
        types.retain(|it| *it != Type::Null);
        if let [only] = types.as_slice() {
            schema.schema_type = SchemaType::Type(only.clone());
        }
    }
}

/// Sets the default bounds of a parameter. Bounds that the operation declares itself take precedence.
fn bound(place: &ParameterIn, name: &str, schema: &mut Object) {
    match (place, name) {
        (ParameterIn::Query, "limit") => {
            schema.minimum.get_or_insert(Number::Int(1));
            schema.maximum.get_or_insert(Number::Int(100));
        }
        (ParameterIn::Query, "after") if schema.schema_type == Type::Integer.into() => {
            schema.minimum.get_or_insert(Number::Int(0));
        }
        (ParameterIn::Path, "name") => text(schema, "^[a-z0-9]+(-[a-z0-9]+)*$", 64),
        (ParameterIn::Header, "Idempotency-Key") => text(schema, "^[ -~]*[!-~][ -~]*$", 255),
        // A browser sends an empty value if it has received no event with an id.
        (ParameterIn::Header, "Last-Event-ID") => {
            schema.pattern.get_or_insert("^[0-9]*$".to_owned());
        }
        _ => {}
    }
}

fn text(schema: &mut Object, pattern: &str, max_length: usize) {
    schema.pattern.get_or_insert(pattern.to_owned());
    schema.min_length.get_or_insert(1);
    schema.max_length.get_or_insert(max_length);
}
