//! The database's clock, as this process knows it.

pub mod sync;

pub use skillet_wire::clock::now;
