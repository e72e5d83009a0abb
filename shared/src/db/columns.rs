//! Rows as the arrays that `unnest` takes.

/// Declares a row, and its columns as one array a field: a statement gets many rows with one parameter a column, which
/// has the name of the field. All of it is visible in the parent module.
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
