//! The architecture rules: dependencies between crates, import cycles, the location of SQL, the names of types, and
//! the form of source files.

mod imports;
mod layers;
mod names;
mod source;
mod text;
