//! What the API and the worker both speak: the domain's types, all SQL, the asset store, the skills,
//! the agents, the tools by name, the providers of models.

pub mod agent;
pub mod approval;
pub mod asset;
pub mod budget;
pub mod clock;
pub mod conversation;
pub mod db;
pub mod event;
pub mod hook;
pub mod host;
pub mod id;
pub mod job;
pub mod key;
pub mod mcp;
pub mod message;
pub mod model_name;
pub mod money;
pub mod open_files;
pub mod provider;
pub mod retention;
pub mod sandbox;
pub mod schema;
pub mod secret;
pub mod skill;
pub mod sse;
pub mod stored;
pub mod submit_limit;
pub mod telemetry;
pub mod tool;
pub mod whole;
