//! The exit report of a program that ran beside the job's commands: its exit, and parts of its standard error.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::command::MAX_OUTPUT_BYTES;
use worker_sandbox::{CommandEnd, LaunchError};
use worker_workspace::{HeadTailBuffer, TextStream};
use worker_workspace::{Redactor, Tail};

/// The maximum number of bytes of standard error in the report.
const MAX_WORDS_BYTES: usize = 2000;
const CHUNK_BYTES: usize = 16 * 1024;
/// The maximum wait for a report. The output of a program ends shortly before its exit is known.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Reads a program's standard error to its end. Returns its head and tail, without secrets.
pub(super) async fn listen(mut stderr: Receiver, redactor: Option<Arc<Redactor>>) -> String {
    let mut words = HeadTailBuffer::new(MAX_WORDS_BYTES);
    let (mut text, mut tail) = (TextStream::default(), Tail::default());
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut left = MAX_OUTPUT_BYTES;
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        left = left.saturating_sub(count as u64);
        if left == 0 {
            // Nothing reads the pipe from now on, so the program ends when it writes more.
            break;
        }
        let heard = text.push(&chunk[..count]);
        match &redactor {
            None => words.push(heard.as_bytes()),
            Some(redactor) => words.push(redactor.push(&mut tail, &heard).as_bytes()),
        }
    }
    if let Some(redactor) = &redactor {
        words.push(redactor.finish(tail).as_bytes());
    }
    words.finish().text.trim().to_owned()
}

/// Returns the exit report, for people.
pub(super) fn write(ended: Result<CommandEnd, LaunchError>, words: &str) -> String {
    let how = match ended {
        Err(error) => format!("could not be run: {error}"),
        Ok(ended) => match (ended.limit, ended.exit_code) {
            (Some(limit), _) => format!("was stopped at a limit ({limit:?})"),
            (None, Some(code)) => format!("ended with exit code {code}"),
            (None, None) => "was stopped".to_owned(),
        },
    };
    if words.is_empty() {
        how
    } else {
        format!("{how}; stderr: {words}")
    }
}

/// Returns the exit report of a program after its end, or `None` if it does not end in time.
pub(super) async fn read(mut written: watch::Receiver<Option<String>>) -> Option<String> {
    let waiting = timeout(TIMEOUT, written.wait_for(Option::is_some));
    let written = waiting.await.ok()?.ok()?;
    written.clone()
}
