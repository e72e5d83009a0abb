//! A wrong host clock for one process.

use std::path::PathBuf;

/// The offset of the clock. It exceeds the partitions of the log, which cover this week and the next two.
const CLOCK_OFFSET: &str = "+22d";

/// The library `libfaketime`, which gives a process a wrong time of day. Monotonic timers stay correct.
#[derive(Clone, Debug)]
pub struct WrongClock {
    library: PathBuf,
}

impl WrongClock {
    /// Searches the paths where distributions install the library.
    pub fn find() -> Option<Self> {
        let multiarch = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
        let folders = [&*multiarch, "/usr/lib64", "/usr/lib", "/usr/local/lib"];
        let library = folders.map(|it| PathBuf::from(it).join("faketime/libfaketime.so.1"));
        let library = library.into_iter().find(|path| path.exists())?;
        Some(Self { library })
    }

    /// Returns the environment variables of a process whose clock is more than three weeks ahead.
    pub(crate) fn environment(&self) -> [(String, String); 3] {
        [
            ("LD_PRELOAD", self.library.display().to_string()),
            ("FAKETIME", CLOCK_OFFSET.to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
    }
}

/// The shared memory that the library leaves behind when its process is killed. Dropping this value removes it.
pub(crate) struct Leftovers {
    process: u32,
}

impl Leftovers {
    pub(crate) fn of(process: u32) -> Self {
        Self { process }
    }
}

impl Drop for Leftovers {
    fn drop(&mut self) {
        for name in ["sem.faketime_sem", "faketime_shm"] {
            // The library may not have created the file, or may have removed it.
            let _ = std::fs::remove_file(format!("/dev/shm/{name}_{}", self.process));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_wrong_clock_is_three_weeks_ahead() {
        let Some(clock) = WrongClock::find() else {
            let required = std::env::var("SKILLET_TEST_REQUIRE");
            assert_ne!(
                required.as_deref(),
                Ok("all"),
                "this test needs libfaketime"
            );
            return eprintln!("left out: this machine has no libfaketime");
        };
        let seconds = |command: &mut Command| -> i64 {
            let output = command.arg("+%s").output().unwrap();
            String::from_utf8(output.stdout)
                .unwrap()
                .trim()
                .parse()
                .unwrap()
        };
        let right = seconds(&mut Command::new("date"));
        let wrong = seconds(Command::new("date").envs(clock.environment()));
        assert!(wrong - right > 21 * 24 * 60 * 60, "{wrong} - {right}");
    }
}
