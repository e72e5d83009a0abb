//! Foundations of the tests: processes, a scripted model server, and chaos runs.

pub mod chaos;
pub mod model_server;
pub mod new_job;
pub mod process;
