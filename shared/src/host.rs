//! Host names, parsed strictly.
//!
//! If two parsers read one text differently, an attacker can bypass a check. So an ambiguous text is not accepted as a
//! host name: addresses in any notation, escapes, control characters, user information.

use std::fmt;
use std::net::IpAddr;

/// The longest name that DNS supports, without the trailing dot.
const MAX_NAME_BYTES: usize = 253;
const MAX_LABEL_BYTES: usize = 63;

/// A host name in lower case, without a trailing dot. It is never an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostName(String);

/// The reason why a text is not a host name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The name is missing.
    #[error("the host name is missing")]
    Empty,
    /// The name is longer than DNS supports.
    #[error("a host's name has at most {MAX_NAME_BYTES} characters")]
    TooLong,
    /// A character is not a letter, digit, hyphen or dot.
    #[error(
        "a host's name consists of ASCII letters, digits, hyphens and dots (an international one is written as xn--…)"
    )]
    Character,
    /// A label is empty, too long, or begins or ends with a hyphen.
    #[error(
        "each part of a host's name has 1 to {MAX_LABEL_BYTES} characters and no hyphen at its ends"
    )]
    Label,
    /// The name is an IP address in some notation.
    #[error("an IP address is not accepted: use a host name")]
    Address,
    /// The port is not valid.
    #[error("a port is a number from 1 to 65535")]
    Port,
}

impl HostName {
    /// Parses a name without a port.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        let name = text.strip_suffix('.').unwrap_or(text);
        if name.is_empty() {
            return Err(HostError::Empty);
        }
        let unbracketed = name.trim_start_matches('[').trim_end_matches(']');
        if unbracketed.parse::<IpAddr>().is_ok() {
            return Err(HostError::Address);
        }
        if !name.bytes().all(is_name_byte) {
            return Err(HostError::Character);
        }
        if name.len() > MAX_NAME_BYTES {
            return Err(HostError::TooLong);
        }
        if !name.split('.').all(is_label) {
            return Err(HostError::Label);
        }
        let last = name.rsplit('.').next().unwrap_or_default();
        if is_number(last) {
            return Err(HostError::Address);
        }
        Ok(Self(name.to_ascii_lowercase()))
    }

    /// Parses `host` or `host:port`.
    pub fn parse_with_port(text: &str) -> Result<(Self, Option<u16>), HostError> {
        // A text with several colons or a final bracket has no port. `parse` refuses it with the right error.
        match text.rsplit_once(':') {
            Some((name, port)) if !name.ends_with(':') && !port.ends_with(']') => {
                let name = Self::parse(name)?;
                Ok((name, Some(parse_port(port)?)))
            }
            _ => Ok((Self::parse(text)?, None)),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the name refers to the local machine.
    pub fn is_localhost(&self) -> bool {
        self.0 == "localhost" || self.0.ends_with(".localhost")
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.')
}

fn is_label(label: &str) -> bool {
    (1..=MAX_LABEL_BYTES).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-')
}

/// Whether the label is a number. `inet_aton` and browsers read a name with such a last label as an address: `127.1`,
/// `2852039166`, `0x7f.1`.
fn is_number(label: &str) -> bool {
    let hexadecimal = label
        .strip_prefix("0x")
        .or_else(|| label.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => label.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

/// Accepts digits only: `u16::from_str` would accept a sign.
fn parse_port(text: &str) -> Result<u16, HostError> {
    let plain = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(port) if plain => Ok(port),
        _ => Err(HostError::Port),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lower_case_and_without_their_trailing_dot() {
        let longest = format!("{}a.{}", "a.".repeat(123), "b".repeat(5));
        assert_eq!(longest.len(), MAX_NAME_BYTES);
        let names = [
            ("github.com", "github.com"),
            ("GitHub.COM.", "github.com"),
            ("localhost", "localhost"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("1password.com", "1password.com"),
            ("0x7f.example", "0x7f.example"),
            ("3com.x1", "3com.x1"),
            (longest.as_str(), longest.as_str()),
        ];
        for (text, name) in names {
            assert_eq!(HostName::parse(text).unwrap().as_str(), name);
        }
    }

    #[test]
    fn an_address_is_no_name_in_any_notation() {
        let addresses = [
            "127.0.0.1",
            "127.0.0.1.",
            "169.254.169.254",
            "2852039166",
            "0177.0.0.1",
            "0x7f.1",
            "0x7f000001",
            "0X7F000001",
            "127.0.0.0x1",
            "127.0.0.0x",
            "127.1",
            "0",
            "example.1",
            "::1",
            "[::1]",
            "::ffff:169.254.169.254",
            "[::ffff:169.254.169.254]",
        ];
        for text in addresses {
            assert_eq!(HostName::parse(text), Err(HostError::Address), "{text}");
        }
    }

    #[test]
    fn what_has_two_readings_is_no_name() {
        let too_long = format!("{}.{}", "a.".repeat(124), "b".repeat(5));
        assert_eq!(too_long.len(), MAX_NAME_BYTES + 1);
        let wide = format!("{}.com", "a".repeat(64));
        let texts = [
            ("", HostError::Empty),
            (".", HostError::Empty),
            ("evil\0.allowed.com", HostError::Character),
            ("evil\r\n.allowed.com", HostError::Character),
            ("evil.com allowed.com", HostError::Character),
            (" allowed.com", HostError::Character),
            ("allowed.com\t", HostError::Character),
            ("evil.com%00.allowed.com", HostError::Character),
            ("%61llowed.com", HostError::Character),
            ("user@allowed.com", HostError::Character),
            ("allowed.com#.evil.com", HostError::Character),
            ("allowed.com/evil", HostError::Character),
            ("allowed.com\\evil", HostError::Character),
            ("[allowed.com]", HostError::Character),
            ("my_host.com", HostError::Character),
            ("bücher.example", HostError::Character),
            ("allowed。com", HostError::Character),
            ("*.allowed.com", HostError::Character),
            ("fe80::1%eth0", HostError::Character),
            ("allowed.com..", HostError::Label),
            (".allowed.com", HostError::Label),
            ("allowed..com", HostError::Label),
            ("-allowed.com", HostError::Label),
            ("allowed-.com", HostError::Label),
            (wide.as_str(), HostError::Label),
            (too_long.as_str(), HostError::TooLong),
        ];
        for (text, error) in texts {
            assert_eq!(HostName::parse(text), Err(error), "{text:?}");
        }
    }

    #[test]
    fn a_port_is_1_to_65535_in_plain_digits() {
        let split = |text: &str| {
            HostName::parse_with_port(text).map(|(name, port)| (name.as_str().to_owned(), port))
        };
        assert_eq!(split("a.b:65535"), Ok(("a.b".to_owned(), Some(65535))));
        assert_eq!(split("a.b"), Ok(("a.b".to_owned(), None)));
        for port in ["0", "65536", "", "+80", "-1", "080", "8o", " 80", "80 "] {
            assert_eq!(
                split(&format!("a.b:{port}")),
                Err(HostError::Port),
                "{port:?}"
            );
        }
        for address in ["[::1]:80", "127.1:80", "::1", "[::1]"] {
            assert_eq!(split(address), Err(HostError::Address), "{address}");
        }
        assert_eq!(split("a.b:80:443"), Err(HostError::Character));
        assert_eq!(split(":80"), Err(HostError::Empty));
    }
}
