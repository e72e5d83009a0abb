//! Scripted replies.

use std::time::Duration;

use serde_json::Value;

/// A reply of the scripted model: a message or an error status.
///
/// A reply begins with [`Reply::text`], [`Reply::thinking`], [`Reply::call`], [`Reply::empty`], [`Reply::stall`] or
/// [`Reply::status`]. The other methods add to it or change it.
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

/// A response with an error status.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) status: u16,
    /// The error message in the provider's error object.
    pub(super) message: String,
    /// The body that replaces the error object, like a gateway's.
    pub(super) body: Option<String>,
    pub(super) headers: Vec<(&'static str, String)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    pub(super) parts: Vec<Part>,
    pub(super) usage: Usage,
    pub(super) stop: Stop,
    pub(super) ending: Ending,
    pub(super) variant: ServerVariant,
}

/// A difference between servers of the same wire format.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum ServerVariant {
    /// Like the provider itself.
    #[default]
    Usual,
    /// A comment before each event.
    WithComments,
    /// Like a small OpenAI-compatible server: whole calls in one delta, no usage and no end marker.
    Simple,
    /// Like a proxy that splits strings by UTF-16 code units. A delta is one unit, which may be half of a surrogate
    /// pair.
    SplitPairs,
}

#[derive(Clone, Debug)]
pub(super) enum Part {
    Text(String),
    Thinking(String),
    /// Only in Anthropic's format. OpenAI's format has no equivalent.
    RedactedThinking(String),
    /// A tool call. The arguments are text, since a model may write invalid JSON.
    Call {
        name: String,
        arguments: String,
    },
}

/// Token counts. Input tokens include cached ones, independent of how the provider counts.
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

/// The end of the stream. Numbers count SSE events.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Ending {
    #[default]
    Complete,
    CutAfter(usize),
    EndAfter(usize),
    ErrorAfter(usize),
    GarbageAfter(usize),
    StallHalfway,
}

impl Reply {
    /// Creates a message with this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::empty().then_text(text)
    }

    /// Creates a message that begins with this thinking block.
    pub fn thinking(thought: impl Into<String>) -> Self {
        Self::empty().then_thinking(thought)
    }

    /// Creates a message that begins with this tool call. The name is the one in the request.
    pub fn call(name: &str, input: Value) -> Self {
        Self::empty().then_call(name, input)
    }

    /// Creates a message without content.
    pub fn empty() -> Self {
        Self {
            answer: Answer::Message(Message::default()),
            delay: None,
        }
    }

    /// Creates a message that stops halfway until [`release`](super::ModelServer::release) is called.
    pub fn stall() -> Self {
        Self::text("I am thinking about this for a while.").ending(Ending::StallHalfway)
    }

    /// Creates an error with this status, in the provider's format.
    ///
    /// # Panics
    ///
    /// If the status is not in the range from 400 to 599.
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

    /// Adds a thinking block: a signed block (Anthropic) or `reasoning_content` (OpenAI).
    pub fn then_thinking(self, thought: impl Into<String>) -> Self {
        self.part(Part::Thinking(thought.into()))
    }

    /// Adds a redacted thinking block, which only its provider can read. OpenAI's format omits it.
    pub fn then_redacted_thinking(self, data: impl Into<String>) -> Self {
        self.part(Part::RedactedThinking(data.into()))
    }

    /// Adds a tool call.
    pub fn then_call(self, name: &str, input: Value) -> Self {
        self.then_broken_call(name, input.to_string())
    }

    /// Adds a tool call with this text as its arguments, JSON or not. Providers do not allow dots in tool names, so
    /// the model calls `shell.exec` as `shell_exec`.
    pub fn then_broken_call(self, name: &str, arguments: impl Into<String>) -> Self {
        self.part(Part::Call {
            name: name.replace('.', "_"),
            arguments: arguments.into(),
        })
    }

    /// Sets the token usage, which is 10 and 5 by default. `input` includes cached tokens.
    pub fn usage(self, input: u64, output: u64) -> Self {
        self.edit(|message| {
            message.usage = Usage {
                input,
                output,
                ..message.usage
            }
        })
    }

    /// Sets how many of the input tokens were read from and written to the provider's cache.
    pub fn cached(self, cache_read: u64, cache_write: u64) -> Self {
        self.edit(|message| {
            message.usage = Usage {
                cache_read,
                cache_write,
                ..message.usage
            };
        })
    }

    /// Ends the message at the token limit. If its last part is a tool call, only half of the arguments arrive.
    pub fn out_of_tokens(self) -> Self {
        self.edit(|message| {
            message.stop = Stop::OutOfTokens;
            if let Some(Part::Call { arguments, .. }) = message.parts.last_mut() {
                arguments.truncate(arguments.floor_char_boundary(arguments.len() / 2));
            }
        })
    }

    /// Sets the stop reason, as on the wire, instead of the fitting one.
    pub fn stop_reason(self, reason: &str) -> Self {
        self.edit(|message| message.stop = Stop::Said(reason.to_owned()))
    }

    /// Closes the connection halfway through the event after this number of events.
    pub fn cut_after(self, events: usize) -> Self {
        self.ending(Ending::CutAfter(events))
    }

    /// Ends the response normally after this number of events, without the remaining ones.
    pub fn end_after(self, events: usize) -> Self {
        self.ending(Ending::EndAfter(events))
    }

    /// Reports overload in the middle of the stream, after this number of events.
    pub fn error_after(self, events: usize) -> Self {
        self.ending(Ending::ErrorAfter(events))
    }

    /// Sends a line of invalid JSON after this number of events, and ends the response.
    pub fn garbage_after(self, events: usize) -> Self {
        self.ending(Ending::GarbageAfter(events))
    }

    /// Delays the response, including its headers.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    /// Sends a comment before each event, like servers that keep a connection alive.
    pub fn with_comments(self) -> Self {
        self.edit(|message| message.variant = ServerVariant::WithComments)
    }

    /// Streams each UTF-16 code unit in its own delta, like some proxies. Characters beyond U+FFFF arrive in halves.
    pub fn with_split_pairs(self) -> Self {
        self.edit(|message| message.variant = ServerVariant::SplitPairs)
    }

    /// Streams like a small OpenAI-compatible server: whole calls in one delta, no usage and no end marker.
    pub fn as_simple_server(self) -> Self {
        self.edit(|message| message.variant = ServerVariant::Simple)
    }

    /// Sets the message of an error status.
    pub fn saying(self, message: &str) -> Self {
        self.edit_failure(|failure| failure.message = message.to_owned())
    }

    /// Sets the body of an error status, which is not in a provider's format.
    pub fn with_body(self, body: &str) -> Self {
        self.edit_failure(|failure| failure.body = Some(body.to_owned()))
    }

    /// Adds a header to an error status.
    pub fn header(self, name: &'static str, value: impl ToString) -> Self {
        self.edit_failure(|failure| failure.headers.push((name, value.to_string())))
    }

    /// Adds a `retry-after` header with this number of seconds to an error status.
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
