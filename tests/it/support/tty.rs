//! A pseudo-terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::process::Child;
use tokio::time::timeout;

use super::{TIMEOUT, Terminal, until};

/// The size of the terminal.
const SIZE: Winsize = Winsize {
    ws_row: 24,
    ws_col: 110,
    ws_xpixel: 0,
    ws_ypixel: 0,
};

/// A command at a terminal, with keyboard input.
pub(crate) struct Tty {
    child: Child,
    keys: File,
    shown: Arc<Mutex<String>>,
}

impl Tty {
    /// Starts a command at a new terminal.
    pub(crate) fn spawn(terminal: &Terminal, arguments: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        tcsetwinsize(&master, SIZE).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let open = || {
            let path = name.to_str().unwrap();
            File::options().read(true).write(true).open(path).unwrap()
        };
        let child = terminal
            .command(arguments)
            .stdin(open())
            .stdout(open())
            .stderr(open())
            .spawn()
            .unwrap();
        let shown = Arc::<Mutex<String>>::default();
        let keys = File::from(master);
        let mut screen = keys.try_clone().unwrap();
        let seen = shown.clone();
        // The thread ends when the last process closes the other side.
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(length @ 1..) = screen.read(&mut part) {
                let text = String::from_utf8_lossy(&part[..length]);
                seen.lock().unwrap().push_str(&text);
            }
        });
        Self { child, keys, shown }
    }

    /// Returns everything that was shown so far.
    pub(crate) fn shown(&self) -> String {
        self.shown.lock().unwrap().clone()
    }

    /// Waits until the text was shown this number of times.
    pub(crate) async fn until_shown(&self, text: &str, times: usize) {
        until(async || self.shown().matches(text).count() >= times).await;
    }

    /// Returns everything that a command shows from start to end, with plain line breaks.
    pub(crate) async fn show_all(terminal: &Terminal, arguments: &[&str]) -> String {
        let mut tty = Self::spawn(terminal, arguments);
        tty.ended().await;
        // Another thread reads the screen.
        until(async || Arc::strong_count(&tty.shown) == 1).await;
        tty.shown().replace("\r\n", "\n")
    }

    /// Types keys.
    pub(crate) fn type_keys(&mut self, keys: &[u8]) {
        self.keys.write_all(keys).unwrap();
    }

    /// Types a line.
    pub(crate) fn type_line(&mut self, line: &str) {
        writeln!(self.keys, "{line}").unwrap();
    }

    /// Waits for the end of the command, and returns its exit code.
    pub(crate) async fn ended(&mut self) -> Option<i32> {
        let ended = timeout(TIMEOUT, self.child.wait()).await;
        ended.expect("the command does not end").unwrap().code()
    }
}
