//! The programs that a worker has searched for. Only the first job that needs a program waits for the search.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use shared::skill::{Need, Program};
use worker_sandbox::Sandbox;

use super::try_installed;

/// The maximum number of cached programs. Beyond it, the cache is cleared.
const MAX_KNOWN: usize = 10_000;

/// Whether programs are installed, by program.
#[derive(Default)]
pub(crate) struct KnownPrograms(Mutex<BTreeMap<Program, bool>>);

impl KnownPrograms {
    /// Returns the programs of the needs that are installed. A command in the sandbox searches for
    /// unknown programs, below `home`.
    pub(crate) async fn installed(
        &self,
        needs: &[Need],
        sandbox: &Sandbox,
        home: &Path,
    ) -> BTreeSet<Program> {
        let wanted: BTreeSet<_> = needs.iter().flat_map(|Need(any)| any).collect();
        let unknown: Vec<_> = {
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let unknown = wanted
                .iter()
                .filter(|program| !known.contains_key(**program));
            unknown.copied().collect()
        };
        if !unknown.is_empty() {
            match try_installed(&unknown, sandbox, home).await {
                Ok(found) => self.add(&unknown, &found),
                // The next job searches again.
                Err(error) => {
                    tracing::warn!(error = format!("{error:#}"), "cannot look for modules");
                }
            }
        }
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let there = wanted.into_iter();
        there
            .filter(|program| known.get(*program) == Some(&true))
            .cloned()
            .collect()
    }

    fn add(&self, searched: &[&Program], found: &BTreeSet<Program>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() > MAX_KNOWN {
            known.clear();
        }
        let searched = searched.iter().copied();
        known.extend(searched.map(|program| (program.clone(), found.contains(program))));
    }
}
