//! The memory of the machine that is reserved for everything except commands.

use std::fs;
use std::str::FromStr;

/// The available memory of the machine below which commands are killed, the largest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryFloor {
    /// A number of bytes.
    Bytes(u64),
    /// A percentage of all memory.
    Percent(u8),
}

const MIB: u64 = 1024 * 1024;
const GIB: u64 = 1024 * MIB;

impl Default for MemoryFloor {
    fn default() -> Self {
        Self::Percent(5)
    }
}

impl MemoryFloor {
    /// The floor on this machine, in bytes.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            // If the total memory is not known, the available memory is not known either.
            Self::Percent(percent) => total_bytes().unwrap_or(0) / 100 * u64::from(percent),
        }
    }
}

/// All memory of the machine (proc_meminfo(5)).
fn total_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let rest = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = rest.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

impl FromStr for MemoryFloor {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str =
            "must be a size or a percentage of the machine's memory, e.g. 512MiB, 2GiB or 5%";
        let number = |text: &str| text.parse::<u32>().map_err(|_| EXPECTED);
        if let Some(percent) = text.strip_suffix('%') {
            let percent = u8::try_from(number(percent)?).map_err(|_| EXPECTED)?;
            return if percent <= 90 {
                Ok(Self::Percent(percent))
            } else {
                Err("must be 90% or less of the machine's memory")
            };
        }
        for (unit, bytes) in [("MiB", MIB), ("GiB", GIB)] {
            if let Some(count) = text.strip_suffix(unit) {
                return Ok(Self::Bytes(u64::from(number(count)?) * bytes));
            }
        }
        Err(EXPECTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_is_a_size_or_a_part_of_all_memory() {
        assert_eq!("512MiB".parse(), Ok(MemoryFloor::Bytes(512 * MIB)));
        assert_eq!("2GiB".parse(), Ok(MemoryFloor::Bytes(2 * GIB)));
        assert_eq!("0%".parse(), Ok(MemoryFloor::Percent(0)));
        for wrong in ["", "5", "%", "91%", "300%", "-1%", "1.5GiB", "1GB", "MiB"] {
            assert!(wrong.parse::<MemoryFloor>().is_err(), "{wrong}");
        }
        let half = MemoryFloor::Percent(50).bytes();
        assert!(half > 0 && half < total_bytes().unwrap());
    }
}
