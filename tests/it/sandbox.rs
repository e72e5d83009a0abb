//! What commands of models try on the machine, in a sandbox and, to show that the attack is one, outside of any.

mod attack;
mod kernel;
mod network;
mod other_job;
mod privilege;
mod process;

/// A name that nothing else on this machine has, also in another run of these tests.
fn unique(name: &str) -> String {
    format!("{name}-{}", uuid::Uuid::now_v7().simple())
}
