//! Input of secret values: hidden at a terminal, or from standard input.

use std::io::{IsTerminal, Read, Stdin, stdin};

use anyhow::{Context, ensure};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::terminal::{say, say_without_break};

/// The maximum size of a value. The service has a lower limit.
const MAX_BYTES: usize = 1024 * 1024;

const INTERRUPT: u8 = 0x03;
const END_OF_INPUT: u8 = 0x04;
const BACKSPACE: u8 = 0x08;
const KILL_LINE: u8 = 0x15;
const DELETE: u8 = 0x7f;

/// Reads a value without exposing it in the process list or the shell history. At a terminal, reads one line without
/// showing it, and returns `None` on Ctrl-C. Otherwise reads all of standard input without a final line break.
pub(crate) fn read_hidden(what: &str) -> anyhow::Result<Option<String>> {
    let input = stdin();
    let value = if input.is_terminal() {
        say_without_break(&format!("{what} (not shown): "));
        let typed = read_keys(&input);
        // The typed line break is not shown either.
        say("");
        typed.context("cannot read the terminal")?
    } else {
        let mut value = Vec::new();
        let mut limited = input.take(MAX_BYTES as u64 + 1);
        limited
            .read_to_end(&mut value)
            .context("cannot read standard input")?;
        Some(value)
    };
    let Some(value) = value else { return Ok(None) };
    ensure!(
        value.len() <= MAX_BYTES,
        "the value is longer than {MAX_BYTES} bytes"
    );
    let value = String::from_utf8(value).context("the value is not text in UTF-8")?;
    let value = value.strip_suffix('\n').unwrap_or(&value);
    Ok(Some(value.strip_suffix('\r').unwrap_or(value).to_owned()))
}

/// A terminal without echo and input processing, until this is dropped.
struct NoEchoTerminal<'a> {
    terminal: &'a Stdin,
    before: Termios,
}

impl<'a> NoEchoTerminal<'a> {
    fn begin(terminal: &'a Stdin) -> std::io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut silent = before.clone();
        // Ctrl-C is read as a key, because a signal would end the process and leave the terminal without echo.
        silent.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        tcsetattr(terminal, OptionalActions::Flush, &silent)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for NoEchoTerminal<'_> {
    fn drop(&mut self) {
        let _ = tcsetattr(self.terminal, OptionalActions::Now, &self.before);
    }
}

fn read_keys(terminal: &Stdin) -> std::io::Result<Option<Vec<u8>>> {
    let _silence = NoEchoTerminal::begin(terminal)?;
    let mut line = Vec::new();
    let mut key = [0];
    while line.len() <= MAX_BYTES {
        // Bypasses the buffer of `Stdin`, which would read more than a line.
        if rustix::io::retry_on_intr(|| rustix::io::read(terminal, &mut key))? == 0 {
            break;
        }
        match key[0] {
            b'\r' | b'\n' | END_OF_INPUT => break,
            INTERRUPT => return Ok(None),
            KILL_LINE => line.clear(),
            BACKSPACE | DELETE => erase_char(&mut line),
            byte => line.push(byte),
        }
    }
    Ok(Some(line))
}

/// Removes the last character with all of its bytes.
fn erase_char(line: &mut Vec<u8>) {
    while let Some(byte) = line.pop() {
        let is_continuation = byte & 0b1100_0000 == 0b1000_0000;
        if !is_continuation {
            return;
        }
    }
}
