//! The size of a benchmark run.

use std::time::Duration;

/// The scale of a run, which is half in a quick run.
pub(crate) struct Scale {
    divisor: u32,
}

impl Scale {
    pub(crate) fn new(quick: bool) -> Self {
        Self {
            divisor: if quick { 2 } else { 1 },
        }
    }

    pub(crate) fn count(&self, full: usize) -> usize {
        full / self.divisor as usize
    }

    /// Selects one of two sizes, for cases in which half would still take too long.
    pub(crate) fn choose<T>(&self, full: T, quick: T) -> T {
        if self.divisor == 1 { full } else { quick }
    }

    /// Returns the number of rounds, whose median counts. It is odd.
    pub(crate) fn rounds(&self, full: usize) -> usize {
        self.count(full) | 1
    }

    pub(crate) fn lasting(&self, full: Duration) -> Duration {
        full / self.divisor
    }
}
