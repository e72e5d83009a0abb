//! Rows as arrays for `unnest`.

/// Declares a row and its columns as one array per field. A statement then receives many rows with one parameter per
/// column. Each array has the name of its field. Both types are visible in the parent module.
macro_rules! columns {
    ($(#[$doc:meta])* struct $columns:ident of $row:ident { $($field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        pub(super) struct $row {
            $(pub(super) $field: $type,)*
        }

        #[derive(Default)]
        pub(super) struct $columns {
            $(pub(super) $field: Vec<$type>,)*
        }

        impl $columns {
            pub(super) fn push(&mut self, row: $row) {
                $(self.$field.push(row.$field);)*
            }
        }
    };
}

pub(super) use columns;
