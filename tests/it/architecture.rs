//! The architecture: dependencies between crates, import cycles, the place of SQL, and the form of source files.

mod imports;
mod layers;
mod source;
mod text;
