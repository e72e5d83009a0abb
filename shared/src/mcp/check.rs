//! Validation of the settings of MCP servers.

use std::collections::BTreeMap;

use super::{McpAccess, url};
use crate::secret::placeholder;

const MAX_NAME_CHARS: usize = 32;
/// The maximum size of the program and its arguments. They become one script, which is one argument of bash.
const MAX_COMMAND_BYTES: usize = 16 * 1024;
const MAX_VALUES: usize = 64;
const MAX_VALUE_BYTES: usize = 8 * 1024;
const MAX_PATTERNS: usize = 128;
const MAX_PATTERN_BYTES: usize = 128;
pub(super) const MAX_TIMEOUT_SECONDS: u32 = 600;

/// Header fields that the connection or the protocol sets.
const OUR_HEADERS: [&str; 16] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Escapes a key for use in a JSON Pointer (RFC 6901).
pub(super) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Whether the text is a valid server name.
pub(super) fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= MAX_NAME_CHARS
        && text.bytes().next().is_some_and(is_plain)
        && text
            .bytes()
            .all(|byte| is_plain(byte) || matches!(byte, b'-' | b'_'))
}

/// Checks the patterns for tool names.
pub(super) fn check_tools(patterns: Option<&[String]>, wrong: &mut impl FnMut(&str, &str)) {
    let patterns = patterns.unwrap_or_default();
    if patterns.len() > MAX_PATTERNS {
        wrong("/tools", "must have at most 128 patterns");
    }
    for (place, pattern) in patterns.iter().take(MAX_PATTERNS).enumerate() {
        if pattern.is_empty() || pattern.len() > MAX_PATTERN_BYTES {
            wrong(&format!("/tools/{place}"), "must be 1 to 128 bytes");
        }
    }
}

/// Checks the transport settings and returns the server's transport, if exactly one of `command` and `url` is set.
pub(super) fn check_access(
    command: Option<Vec<String>>,
    env: BTreeMap<String, String>,
    url: Option<String>,
    headers: BTreeMap<String, String>,
    wrong: &mut impl FnMut(&str, &str),
) -> Option<McpAccess> {
    check_values("env", &env, env_fault, wrong);
    check_values("headers", &headers, header_fault, wrong);
    match (command, url) {
        (Some(command), None) => {
            if !headers.is_empty() {
                wrong("/headers", "only a server with a `url` has headers");
            }
            if let Some(remedy) = command_fault(&command) {
                wrong("/command", remedy);
            }
            Some(McpAccess::Program { command, env })
        }
        (None, Some(url)) => {
            if !env.is_empty() {
                wrong("/env", "only a server with a `command` has variables");
            }
            if let Some(remedy) = url::fault(&url) {
                wrong("/url", remedy);
            }
            Some(McpAccess::Service { url, headers })
        }
        _ => {
            wrong("", "needs exactly one of `command` and `url`");
            None
        }
    }
}

fn check_values(
    field: &str,
    values: &BTreeMap<String, String>,
    fault: impl Fn(&str, &str) -> Option<&'static str>,
    wrong: &mut impl FnMut(&str, &str),
) {
    if values.len() > MAX_VALUES {
        return wrong(&format!("/{field}"), "must have at most 64 entries");
    }
    for (key, value) in values {
        let place = format!("/{field}/{}", escape(key));
        if let Some(remedy) = fault(key, value) {
            wrong(&place, remedy);
        } else if value.len() > MAX_VALUE_BYTES {
            wrong(&place, "must be at most 8 KiB");
        } else if let Err(error) = placeholder::names(value) {
            wrong(&place, &error.to_string());
        }
    }
}

fn command_fault(command: &[String]) -> Option<&'static str> {
    let total: usize = command.iter().map(String::len).sum();
    if command.first().is_none_or(String::is_empty) {
        Some("must be a program, followed by its arguments")
    } else if total > MAX_COMMAND_BYTES || command.len() > MAX_COMMAND_BYTES / 16 {
        Some("must be at most 16 KiB and 1024 words")
    } else if command.iter().any(|word| word.contains('\0')) {
        Some("must not contain a NUL byte")
    } else if command.iter().any(|word| placeholder::is_in(word)) {
        Some("cannot name a secret: every process of the job sees it; put it into `env`")
    } else {
        None
    }
}

fn env_fault(name: &str, value: &str) -> Option<&'static str> {
    let may_begin = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let is_name = name.len() <= 128
        && name.bytes().next().is_some_and(may_begin)
        && name
            .bytes()
            .all(|byte| may_begin(byte) || byte.is_ascii_digit());
    if !is_name {
        Some(
            "a variable's name has at most 128 letters, digits and `_`, and does not begin with a digit",
        )
    } else if value.contains('\0') {
        Some("must not contain a NUL byte")
    } else {
        None
    }
}

fn header_fault(name: &str, value: &str) -> Option<&'static str> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let is_shown = |byte: u8| byte == b'\t' || (byte >= b' ' && byte != 0x7f);
    if name.is_empty() || name.len() > 128 || !name.bytes().all(is_token) {
        Some("is not a valid header name")
    } else if OUR_HEADERS.contains(&&*name.to_ascii_lowercase()) {
        Some("cannot be set: it belongs to the connection")
    } else if !value.bytes().all(is_shown) {
        Some("must not contain line breaks or control characters")
    } else {
        None
    }
}
