//! Scripted replies.

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
    Error(Failure),
    Message(Message),
}

/// An answer with an error status.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) status: u16,
    /// What the provider says, in its own shape.
    pub(super) message: String,
    /// What is sent instead, as a gateway would.
    pub(super) body: Option<String>,
    pub(super) headers: Vec<(&'static str, String)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    pub(super) parts: Vec<Part>,
    pub(super) usage: Usage,
    pub(super) stop: Stop,
    pub(super) ending: Ending,
    pub(super) manner: Manner,
}

/// In what servers of the same format differ.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Manner {
    /// As the provider itself.
    #[default]
    Usual,
    /// With a comment before each event.
    Commenting,
    /// As a small server of OpenAI's format: whole calls, no usage and no mark at the end.
    Simple,
    /// As through a proxy that cuts strings by UTF-16 units: a delta is one, and may be half of a surrogate pair.
    SplitPairs,
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
    GarbageAfter(usize),
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
            answer: Answer::Error(Failure {
                status,
                message: "This error is in the script.".to_owned(),
                body: None,
                headers: Vec::new(),
            }),
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

    /// Adds a call whose arguments are this text, JSON or not. Of a tool's name, a model knows what providers take:
    /// `shell_exec` for `shell.exec`.
    pub fn then_broken_call(self, name: &str, arguments: impl Into<String>) -> Self {
        self.part(Part::Call {
            name: name.replace('.', "_"),
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

    /// Sends a line that is no JSON after this many events, and no more.
    pub fn garbage_after(self, events: usize) -> Self {
        self.ending(Ending::GarbageAfter(events))
    }

    /// Pauses before the answer, its headers included.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    /// Sends a comment before each event, as servers do that keep a connection alive.
    pub fn with_comments(self) -> Self {
        self.edit(|message| message.manner = Manner::Commenting)
    }

    /// Streams each UTF-16 unit in a delta of its own, as some proxies do: characters beyond U+FFFF come in halves.
    pub fn with_split_pairs(self) -> Self {
        self.edit(|message| message.manner = Manner::SplitPairs)
    }

    /// Streams as a small server of OpenAI's format does: whole calls, no usage, no mark at the end.
    pub fn as_simple_server(self) -> Self {
        self.edit(|message| message.manner = Manner::Simple)
    }

    /// Gives, with an error status, these words instead of its own.
    pub fn saying(self, message: &str) -> Self {
        self.edit_failure(|failure| failure.message = message.to_owned())
    }

    /// Answers an error status with this body, in no provider's shape.
    pub fn with_body(self, body: &str) -> Self {
        self.edit_failure(|failure| failure.body = Some(body.to_owned()))
    }

    /// Adds a header to an error status.
    pub fn header(self, name: &'static str, value: impl ToString) -> Self {
        self.edit_failure(|failure| failure.headers.push((name, value.to_string())))
    }

    /// Asks, with an error status, to come back after this many seconds.
    pub fn retry_after(self, seconds: u64) -> Self {
        self.header("retry-after", seconds)
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
            Answer::Error(failure) => panic!("the status {} has no message", failure.status),
        }
        self
    }

    fn edit_failure(mut self, edit: impl FnOnce(&mut Failure)) -> Self {
        match &mut self.answer {
            Answer::Error(failure) => edit(failure),
            Answer::Message(_) => panic!("only an error status can do that"),
        }
        self
    }
}
