//! What a test lets the model answer.

use std::time::Duration;

use serde_json::Value;

/// One answer of the scripted model: a message, or an error status.
///
/// It begins with [`Reply::text`], [`Reply::thinking`], [`Reply::call`], [`Reply::empty`],
/// [`Reply::stall`] or [`Reply::status`]; everything else adds to it.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) answer: Answer,
    pub(super) delay: Option<Duration>,
}

#[derive(Clone, Debug)]
pub(super) enum Answer {
    Error {
        status: u16,
        retry_after_seconds: Option<u64>,
    },
    Message(Message),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    pub(super) parts: Vec<Part>,
    pub(super) usage: Usage,
    pub(super) stop: Stop,
    pub(super) ending: Ending,
}

#[derive(Clone, Debug)]
pub(super) enum Part {
    Text(String),
    Thinking(String),
    /// Anthropic only; OpenAI's format has nothing like it.
    RedactedThinking(String),
    /// The arguments are text, since a model may write what is not JSON.
    Call {
        name: String,
        arguments: String,
    },
}

/// Input tokens include the cached ones, whatever the provider's way to count is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self {
            input: 10,
            output: 5,
            cache_read: 0,
            cache_write: 0,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) enum Stop {
    #[default]
    Natural,
    OutOfTokens,
    Said(String),
}

/// How the stream ends; numbers count SSE events.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Ending {
    #[default]
    Whole,
    CutAfter(usize),
    EndAfter(usize),
    ErrorAfter(usize),
    StallHalfway,
}

impl Reply {
    /// A message of this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::empty().then_text(text)
    }

    /// A message that begins with this thought.
    pub fn thinking(thought: impl Into<String>) -> Self {
        Self::empty().then_thinking(thought)
    }

    /// A message that begins with this call, under the name that the request gave the tool.
    pub fn call(name: &str, input: Value) -> Self {
        Self::empty().then_call(name, input)
    }

    /// A message without content.
    pub fn empty() -> Self {
        Self {
            answer: Answer::Message(Message::default()),
            delay: None,
        }
    }

    /// A message that stops arriving halfway, until [`release`](super::ModelServer::release).
    pub fn stall() -> Self {
        Self::text("I am thinking about this for a while.").ending(Ending::StallHalfway)
    }

    /// An error with this status, in the provider's shape.
    ///
    /// # Panics
    ///
    /// If it is none of 400 to 599.
    pub fn status(status: u16) -> Self {
        assert!((400..600).contains(&status), "{status} is no error");
        Self {
            answer: Answer::Error {
                status,
                retry_after_seconds: None,
            },
            delay: None,
        }
    }

    /// Adds text.
    pub fn then_text(self, text: impl Into<String>) -> Self {
        self.part(Part::Text(text.into()))
    }

    /// Adds a thought: a signed block (Anthropic), `reasoning_content` (OpenAI).
    pub fn then_thinking(self, thought: impl Into<String>) -> Self {
        self.part(Part::Thinking(thought.into()))
    }

    /// Adds a thought that only its provider can read; nothing in OpenAI's format.
    pub fn then_redacted_thinking(self, data: impl Into<String>) -> Self {
        self.part(Part::RedactedThinking(data.into()))
    }

    /// Adds a call.
    pub fn then_call(self, name: &str, input: Value) -> Self {
        self.then_broken_call(name, input.to_string())
    }

    /// Adds a call whose arguments are this text, JSON or not.
    pub fn then_broken_call(self, name: &str, arguments: impl Into<String>) -> Self {
        self.part(Part::Call {
            name: name.to_owned(),
            arguments: arguments.into(),
        })
    }

    /// Bills these tokens instead of 10 and 5; `input` includes the cached ones.
    pub fn usage(self, input: u64, output: u64) -> Self {
        self.edit(|message| {
            message.usage = Usage {
                input,
                output,
                ..message.usage
            }
        })
    }

    /// Says how many of the input tokens came out of the provider's cache and went into it.
    pub fn cached(self, cache_read: u64, cache_write: u64) -> Self {
        self.edit(|message| {
            message.usage = Usage {
                cache_read,
                cache_write,
                ..message.usage
            };
        })
    }

    /// Ends the message by the cap on tokens: if its last part is a call, only half of it arrives.
    pub fn out_of_tokens(self) -> Self {
        self.edit(|message| {
            message.stop = Stop::OutOfTokens;
            if let Some(Part::Call { arguments, .. }) = message.parts.last_mut() {
                arguments.truncate(arguments.floor_char_boundary(arguments.len() / 2));
            }
        })
    }

    /// Gives this stop reason, as the wire has it, instead of the fitting one.
    pub fn stop_reason(self, reason: &str) -> Self {
        self.edit(|message| message.stop = Stop::Said(reason.to_owned()))
    }

    /// Closes the connection halfway through the event that follows this many.
    pub fn cut_after(self, events: usize) -> Self {
        self.ending(Ending::CutAfter(events))
    }

    /// Ends the response after this many events, in good order but without the last ones.
    pub fn end_after(self, events: usize) -> Self {
        self.ending(Ending::EndAfter(events))
    }

    /// Reports overload in mid-stream, after this many events.
    pub fn error_after(self, events: usize) -> Self {
        self.ending(Ending::ErrorAfter(events))
    }

    /// Pauses before the answer, its headers included.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    /// Asks, with an error status, to come back after this many seconds.
    ///
    /// # Panics
    ///
    /// On a message.
    pub fn retry_after(mut self, seconds: u64) -> Self {
        match &mut self.answer {
            Answer::Error {
                retry_after_seconds,
                ..
            } => *retry_after_seconds = Some(seconds),
            Answer::Message(_) => panic!("only an error status has a Retry-After"),
        }
        self
    }

    fn part(self, part: Part) -> Self {
        self.edit(|message| message.parts.push(part))
    }

    fn ending(self, ending: Ending) -> Self {
        self.edit(|message| message.ending = ending)
    }

    fn edit(mut self, edit: impl FnOnce(&mut Message)) -> Self {
        match &mut self.answer {
            Answer::Message(message) => edit(message),
            Answer::Error { status, .. } => panic!("the status {status} has no message"),
        }
        self
    }
}
