//! A service of its own for each test.

mod database;
mod process;
mod service;
mod stream;

pub(crate) use process::Process;
pub(crate) use service::{Service, until};
pub(crate) use stream::Stream;

/// Whether a program that a test needs is there. Where nothing may be left out, its absence is a failure.
pub(crate) fn has_program(name: &str) -> bool {
    let found = worker_programs(name);
    let must = std::env::var("SKILLET_TEST_REQUIRE").is_ok_and(|value| value == "all");
    assert!(
        found || !must,
        "this test needs `{name}`, and SKILLET_TEST_REQUIRE=all"
    );
    if !found {
        eprintln!("left out: this machine has no `{name}`");
    }
    found
}

fn worker_programs(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}
