//! The memory use of a command's processes together, and the available memory of the machine.

use std::fs;

use super::process::{self, Process};
use super::unlinked_usage::UnlinkedUsage;

/// Returns the memory of the processes in bytes, with each page counted once. That is slow. A faster estimate, which
/// counts each page for every process that has it, is returned if it is at most `enough`.
pub(super) fn held_bytes(processes: &[Process], unlinked: &UnlinkedUsage, enough: u64) -> u64 {
    let sum = |held: &dyn Fn(&Process) -> (u64, u64)| {
        let (mut own, mut shared) = (0, 0);
        for process in processes {
            let held = held(process);
            own += held.0;
            shared += held.1;
        }
        // Memory that is mapped and open at once must not count twice.
        own + shared.max(unlinked.memory_bytes)
    };
    let whole = |process: &Process| (process.status.own_bytes, process.status.shared_bytes);
    let rough = sum(&whole);
    if rough <= enough {
        return rough;
    }
    // For a process that denies access, only the estimate is known.
    sum(&|process| process::proportional_bytes(process.thread).unwrap_or_else(|| whole(process)))
}

/// The memory of the machine that is reserved for its other programs.
pub(super) struct Floor {
    bytes: u64,
    /// The number of successive checks with less memory available.
    low_looks: u32,
    is_near: bool,
}

impl Floor {
    pub(super) fn new(bytes: u64) -> Self {
        Self {
            bytes,
            low_looks: 0,
            is_near: false,
        }
    }

    /// Checks the machine. Returns whether a command that holds `held_bytes` of its limit `most_bytes` must end.
    pub(super) fn claims(&mut self, held_bytes: u64, most_bytes: u64) -> bool {
        let Some(available) = available_bytes() else {
            return false;
        };
        self.judge(available, held_bytes, most_bytes)
    }

    /// Returns whether the machine should be checked more often.
    pub(super) fn is_near(&self) -> bool {
        self.is_near
    }

    /// The largest commands end first: those that hold half of their limit, then an eighth, and so on. The memory that
    /// they free may be enough for the others. Memory that is not visible may belong to any command, so all end at the
    /// fifth check.
    fn judge(&mut self, available: u64, held_bytes: u64, most_bytes: u64) -> bool {
        self.is_near = available < self.bytes.saturating_mul(4);
        if available >= self.bytes {
            self.low_looks = 0;
            return false;
        }
        let least = match self.low_looks {
            looks @ 0..4 => most_bytes >> (2 * looks + 1),
            _ => 0,
        };
        self.low_looks += 1;
        held_bytes >= least
    }
}

/// Returns the memory that is available to programs (proc_meminfo(5)).
fn available_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    process::number(&text, "MemAvailable:").map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: u64 = 1 << 31;

    #[test]
    fn when_the_machine_runs_out_of_memory_the_largest_commands_go_first_and_in_the_end_all() {
        let looks_until_end = |held: u64| {
            let mut floor = Floor::new(1000);
            (0..10).position(|_| floor.judge(999, held, MAX)).unwrap()
        };
        assert_eq!(looks_until_end(MAX), 0);
        assert_eq!(looks_until_end(MAX / 2), 0);
        assert_eq!(looks_until_end(MAX / 8), 1);
        assert_eq!(looks_until_end(MAX / 9), 2);
        assert_eq!(looks_until_end(MAX / 128), 3);
        assert_eq!(looks_until_end(0), 4);
    }

    #[test]
    fn memory_that_is_available_again_spares_the_rest() {
        let mut floor = Floor::new(1000);
        for available in [999, 999, 999, 1000, 999, 999, 999, 999, 1000] {
            assert!(!floor.judge(available, 0, MAX));
        }
        assert!(floor.is_near());
        assert!(!floor.judge(4000, MAX, MAX) && !floor.is_near());
    }

    #[test]
    fn what_is_available_is_known_on_this_machine() {
        assert!(available_bytes().unwrap() > 0);
    }
}
