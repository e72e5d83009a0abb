//! Types of the HTTP API that the service and its clients share.

pub mod approval;
pub mod asset;
#[cfg(feature = "server")]
pub mod clock;
pub mod event;
pub mod feed;
pub mod id;
pub mod job;
pub mod message;
pub mod model_list;
pub mod model_name;
pub mod money;
pub mod problem;
pub mod sandbox;
pub mod sse;
