//! The console in a browser, against a service: `console/test/journey`.

use crate::support::{Service, has_program, run_script};

#[tokio::test]
async fn the_console_is_built_and_passes_its_journeys() {
    if !["npm", "node", "chromium"].into_iter().all(has_program) {
        return;
    }
    // The journeys use local webhook receivers.
    let mut service = Service::with_environment(&[("SKILLET_WEBHOOK_ALLOW", "127.0.0.0/8")]).await;
    service.add_worker(&[]).await;
    run_script(&service, "console/check", &[]).await;
}
