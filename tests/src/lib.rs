//! What the tests stand on: a scripted model behind the providers' wire formats.

pub mod model_server;
