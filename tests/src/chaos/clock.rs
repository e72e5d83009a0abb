//! A wrong host clock for one process.

use std::path::PathBuf;

/// How far it is ahead: the log has partitions for this week and the next two.
const AHEAD: &str = "+22d";

/// The library `libfaketime`, with which a process reads another time of day. Its timers are right.
#[derive(Clone, Debug)]
pub struct WrongClock {
    library: PathBuf,
}

impl WrongClock {
    /// Looks for the library where distributions install it.
    pub fn find() -> Option<Self> {
        let multiarch = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
        let folders = [&*multiarch, "/usr/lib64", "/usr/lib", "/usr/local/lib"];
        let library = folders.map(|it| PathBuf::from(it).join("faketime/libfaketime.so.1"));
        let library = library.into_iter().find(|path| path.exists())?;
        Some(Self { library })
    }

    /// The variables of a process whose clock is more than three weeks ahead.
    pub(crate) fn environment(&self) -> [(String, String); 3] {
        [
            ("LD_PRELOAD", self.library.display().to_string()),
            ("FAKETIME", AHEAD.to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
    }
}

/// The shared memory that the library leaves behind when its process is killed. Dropping it removes that.
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
            // The library did not need it, or has removed it itself.
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
