//! The execution of a page: its commands from top to bottom, as a reader runs them.

use super::block::{Handling, blocks};
use super::read;
use super::session::Session;
use crate::support::Service;

/// Runs the page against a service. A page that starts its own service in the background gets none.
pub(super) async fn run(page: &str) {
    let blocks = blocks(&read(page));
    for block in &blocks {
        if let Handling::NotExecuted { reason } = &block.handling {
            let line = block.line;
            assert!(
                !reason.is_empty(),
                "{page}:{line}: say why the block is not executed"
            );
        }
    }
    let blocks: Vec<_> = blocks
        .into_iter()
        .filter(|block| !matches!(block.handling, Handling::NotExecuted { .. }))
        .collect();
    if blocks.is_empty() {
        return;
    }
    let starts_its_own = blocks
        .iter()
        .any(|block| block.handling == Handling::Background);
    let service = match starts_its_own {
        true => None,
        false => Some(Service::start().await),
    };
    let session = Session::new(page, service.as_ref());
    session.run(&blocks).await;
}
