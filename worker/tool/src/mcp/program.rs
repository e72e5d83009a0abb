//! A server that is a program in the job's sandbox, confined like the job's commands.

use std::collections::BTreeMap;

use rmcp::RoleClient;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::watch;

use super::limited_reader::LimitedReader;
use super::size::MAX_MESSAGE_BYTES;
use crate::context::ToolContext;
use crate::program;
use crate::side_program::SideProgram;

/// A running program. Dropping this ends the program.
pub(super) struct McpProgram {
    /// The exit report, after the program has ended.
    pub(super) exit_report: watch::Receiver<Option<String>>,
    _program: SideProgram,
}

/// The transport to a program: its standard input and output.
pub(super) type Pipes = AsyncRwTransport<RoleClient, LimitedReader<Receiver>, Sender>;

impl McpProgram {
    /// Starts the program. An error is a message for people.
    pub(super) async fn start(
        command: &[String],
        env: &BTreeMap<String, String>,
        context: &ToolContext<'_>,
    ) -> Result<(Self, Pipes), String> {
        let mut environment = Vec::with_capacity(env.len());
        for (name, value) in env {
            let value = context.secrets.fill(value);
            let value = value.map_err(|error| format!("its variable {name}: {error}"))?;
            environment.push((name.clone(), value));
        }
        let (program, pipes) = program::start(&script(command), environment, context).await?;
        let program = Self {
            exit_report: program.exit_report.clone(),
            _program: program,
        };
        let transport = AsyncRwTransport::new_client(LimitedReader::new(pipes.output), pipes.input);
        Ok((
            program,
            transport.with_max_line_length(MAX_MESSAGE_BYTES + 1),
        ))
    }
}

/// Returns a script in which the program, with its arguments, replaces bash.
fn script(command: &[String]) -> String {
    let words = command.iter();
    let quoted = words.map(|word| format!(" '{}'", word.replace('\'', r"'\''")));
    format!("exec --{}", quoted.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_word_of_the_command_is_the_program_gets_it_as_it_is() {
        let words = ["printf", "<%s>", "a b", "it's", "$(id)", "-c", "", "é;x\n"];
        let ran = std::process::Command::new("bash")
            .args(["-c", &script(&words.map(str::to_owned))])
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&ran.stdout),
            "<a b><it's><$(id)><-c><><é;x\n>"
        );
    }
}
