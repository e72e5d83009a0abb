//! What the tests stand on: processes, a scripted model behind the providers' wire formats, and chaos.

pub mod chaos;
pub mod model_server;
pub mod new_job;
pub mod process;
