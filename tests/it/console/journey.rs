//! The console in a browser, against a service: `console/test/journey`.

use crate::support::{Service, has_program, run_script};

#[tokio::test]
async fn the_console_is_built_and_passes_its_journeys() {
    if !["npm", "node", "chromium"].into_iter().all(has_program) {
        return;
    }
    let service = Service::start().await;
    run_script(&service, "console/check", &[]).await;
}
