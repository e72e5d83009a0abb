//! The Python client: its own tests against a service.

use crate::support::{Service, has_program, run_script};

#[tokio::test]
async fn the_client_for_python_is_built_and_passes_its_tests() {
    if !has_program("python3") {
        return;
    }
    let service = Service::start().await;
    let Some(printed) = run_script(&service, "clients/python/test", &[]).await else {
        return;
    };
    assert!(printed.contains(" passed"), "{printed}");
    assert!(!printed.contains(" skipped"), "{printed}");
}
