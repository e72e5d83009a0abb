//! Headers as generators of clients want them: one that may be left out is still never null.

use utoipa::openapi::path::{Operation, Parameter};
use utoipa::openapi::schema::{SchemaType, Type};
use utoipa::openapi::{Paths, RefOr, Schema};

/// Takes null from what the parameters of operations may be.
pub(super) fn deny_null(paths: &mut Paths) {
    for path in paths.paths.values_mut() {
        let operations = [
            &mut path.get,
            &mut path.put,
            &mut path.post,
            &mut path.patch,
            &mut path.delete,
        ];
        for operation in operations.into_iter().flatten() {
            parameters(operation).for_each(deny);
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

fn deny(parameter: &mut Parameter) {
    let Some(RefOr::T(Schema::Object(object))) = &mut parameter.schema else {
        return;
    };
    if let SchemaType::Array(types) = &mut object.schema_type {
        types.retain(|it| *it != Type::Null);
        if let [only] = types.as_slice() {
            object.schema_type = SchemaType::Type(only.clone());
        }
    }
}
