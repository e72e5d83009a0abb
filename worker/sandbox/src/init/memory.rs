//! The memory of a command: of all its processes together, and of the machine that it runs on.

use std::fs;

use super::process::{self, Process};
use super::unlinked_usage::UnlinkedUsage;

/// The memory of processes in bytes, each page counted once. That is slow to find out, so first each page is counted
/// for every process that has it, which may be as many as `enough`.
pub(super) fn held_bytes(processes: &[Process], unlinked: &UnlinkedUsage, enough: u64) -> u64 {
    let sum = |held: &dyn Fn(&Process) -> (u64, u64)| {
        let (mut own, mut shared) = (0, 0);
        for process in processes {
            let held = held(process);
            own += held.0;
            shared += held.1;
        }
        // What is mapped and open at once is one and the same.
        own + shared.max(unlinked.memory_bytes)
    };
    let whole = |process: &Process| (process.status.own_bytes, process.status.shared_bytes);
    let rough = sum(&whole);
    if rough <= enough {
        return rough;
    }
    // Of one that hides we know no better.
    sum(&|process| process::proportional_bytes(process.thread).unwrap_or_else(|| whole(process)))
}

/// The memory of the machine that is left to its other programs.
pub(super) struct Floor {
    bytes: u64,
    /// The number of successive times that less than that was available.
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

    /// Looks at the machine, and says whether a command that holds so much of the most that one may hold has to end.
    pub(super) fn claims(&mut self, held_bytes: u64, most_bytes: u64) -> bool {
        let Some(available) = available_bytes() else {
            return false;
        };
        self.judge(available, held_bytes, most_bytes)
    }

    /// Whether it should be looked at more often.
    pub(super) fn is_near(&self) -> bool {
        self.is_near
    }

    /// The largest go first: half of what is allowed, then an eighth, and so on. What they give back may be enough for
    /// the others; but memory that is not seen may be anyone's, so at the fifth look all go.
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

/// The memory that programs can have before the machine has none (proc_meminfo(5)).
fn available_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    process::number(&text, "MemAvailable:").map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u64 = 1 << 31;

    #[test]
    fn when_the_machine_runs_out_of_memory_the_largest_commands_go_first_and_in_the_end_all() {
        let looks_until_end = |held: u64| {
            let mut floor = Floor::new(1000);
            (0..10).position(|_| floor.judge(999, held, MOST)).unwrap()
        };
        assert_eq!(looks_until_end(MOST), 0);
        assert_eq!(looks_until_end(MOST / 2), 0);
        assert_eq!(looks_until_end(MOST / 8), 1);
        assert_eq!(looks_until_end(MOST / 9), 2);
        assert_eq!(looks_until_end(MOST / 128), 3);
        assert_eq!(looks_until_end(0), 4);
    }

    #[test]
    fn memory_that_is_available_again_spares_the_rest() {
        let mut floor = Floor::new(1000);
        for available in [999, 999, 999, 1000, 999, 999, 999, 999, 1000] {
            assert!(!floor.judge(available, 0, MOST));
        }
        assert!(floor.is_near());
        assert!(!floor.judge(4000, MOST, MOST) && !floor.is_near());
    }

    #[test]
    fn what_is_available_is_known_on_this_machine() {
        assert!(available_bytes().unwrap() > 0);
    }
}
