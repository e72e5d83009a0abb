//! The database's clock, as known to this process.

pub mod sync;

pub use skillet_wire::clock::now;
