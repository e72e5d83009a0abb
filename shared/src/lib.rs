//! The domain library of Skillet: types, SQL, asset store, skills, agents, tools and model providers.

// Futures are moved and allocated for each request and statement, so large ones are slow. The size limit is in
// `clippy.toml`.
#![warn(clippy::large_futures)]

pub mod address;
pub mod agent;
pub mod approval;
pub mod asset;
pub mod budget;
pub mod clock;
pub mod conversation;
pub mod db;
pub mod event;
pub mod feed;
pub mod hook;
pub mod host;
pub mod job;
pub mod key;
pub mod limits;
pub mod mcp;
pub mod open_files;
pub mod provider;
pub mod retention;
pub mod schedule;
pub mod schema;
pub mod secret;
pub mod skill;
pub mod stored;
pub mod submit_limit;
pub mod telemetry;
pub mod tool;
pub mod usage;
pub mod webhook;
pub mod whole_number;

pub use skillet_wire::{id, message, model_list, model_name, money, sandbox, sse};
