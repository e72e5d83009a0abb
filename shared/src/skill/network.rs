//! Network access of a skill's commands, as declared in its front matter.

mod value;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::host::{HostError, HostName};

pub use value::{ParameterError, ValueError};

/// The maximum number of hosts in a declaration. Each host can need two listeners per job. All listeners of a job are
/// passed in one message, which can hold 253.
pub const MAX_HOSTS: usize = 64;

/// The network access of a skill's commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Network {
    /// No network access.
    None,
    /// All public hosts, on the ports of the web.
    Public,
    /// These hosts only.
    Hosts(Vec<HostSource>),
}

/// The source of a host rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostSource {
    /// A host that the skill names.
    Fixed(HostRule),
    /// The job's parameter with this name: a URL or `host[:port]`, or a list of them.
    Parameter(String),
    /// The tenant's secret with this name: a URL or `host[:port]`.
    Secret(String),
}

/// Hosts and their ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRule {
    /// The hosts.
    pub host: HostPattern,
    /// The ports.
    pub ports: Ports,
}

/// A pattern for host names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostPattern {
    /// The host with this name.
    Exact(HostName),
    /// All subdomains of this name, but not the name itself.
    Below(HostName),
}

/// The ports of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ports {
    /// The ports of the web: 443 and 80.
    Web,
    /// A single port.
    One(u16),
}

/// An error in a network declaration.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// `none` or `public` is combined with other words.
    #[error("`{0}` cannot be combined with other entries: remove it or the others")]
    NotAlone(String),
    /// The pattern matches every host.
    #[error("`{0}` means every host: write `public`, or `*.` and the domain of the hosts")]
    Everything(String),
    /// A URL is given instead of a host.
    #[error("`{0}` is a URL: write its host, and a colon and its port if it is not 443 or 80")]
    Url(String),
    /// The host is the sandbox itself, which is always reachable.
    #[error("`{0}` is the sandbox itself, which is always reachable: remove it")]
    Localhost(String),
    /// The name of the parameter or secret is missing or invalid.
    #[error("`{0}` needs a name of letters, digits, `_` and `-`, as in `parameter:url`")]
    Source(String),
    /// The word is not a valid host.
    #[error("`{word}`: {cause}")]
    Host {
        /// The word.
        word: String,
        /// The problem.
        cause: HostError,
    },
    /// The declaration has too many hosts.
    #[error("names more than {MAX_HOSTS} hosts: use `*.` and a domain for several hosts")]
    TooMany,
}

impl Network {
    /// Parses the words of a declaration.
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, NetworkError> {
        let words: Vec<&str> = words.into_iter().collect();
        if let Some(alone) = words
            .iter()
            .find(|word| matches!(**word, "none" | "public"))
        {
            return match words.as_slice() {
                ["none"] => Ok(Self::None),
                ["public"] => Ok(Self::Public),
                _ => Err(NetworkError::NotAlone((*alone).to_owned())),
            };
        }
        if words.len() > MAX_HOSTS {
            return Err(NetworkError::TooMany);
        }
        let sources: Vec<HostSource> = words
            .into_iter()
            .map(HostSource::parse)
            .collect::<Result<_, _>>()?;
        Ok(if sources.is_empty() {
            Self::None
        } else {
            Self::Hosts(sources)
        })
    }

    /// The names of the parameters that contain hosts.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.sources().filter_map(|source| match source {
            HostSource::Parameter(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// The names of the secrets that contain hosts.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.sources().filter_map(|source| match source {
            HostSource::Secret(name) => Some(name.as_str()),
            _ => None,
        })
    }

    fn sources(&self) -> impl Iterator<Item = &HostSource> {
        let sources: &[HostSource] = match self {
            Self::Hosts(sources) => sources,
            Self::None | Self::Public => &[],
        };
        sources.iter()
    }
}

impl HostSource {
    fn parse(word: &str) -> Result<Self, NetworkError> {
        if let Some(name) = word.strip_prefix("parameter:") {
            return Ok(Self::Parameter(source_name(word, name)?));
        }
        if let Some(name) = word.strip_prefix("secret:") {
            return Ok(Self::Secret(source_name(word, name)?));
        }
        if word.contains("://") {
            return Err(NetworkError::Url(word.to_owned()));
        }
        if word == "*" || word.starts_with("*:") {
            return Err(NetworkError::Everything(word.to_owned()));
        }
        let (wild, text) = match word.strip_prefix("*.") {
            Some(text) => (true, text),
            None => (false, word),
        };
        let (host, port) = HostName::parse_with_port(text).map_err(|cause| NetworkError::Host {
            word: word.to_owned(),
            cause,
        })?;
        if host.is_localhost() {
            return Err(NetworkError::Localhost(word.to_owned()));
        }
        Ok(Self::Fixed(HostRule {
            host: if wild {
                HostPattern::Below(host)
            } else {
                HostPattern::Exact(host)
            },
            ports: port.map_or(Ports::Web, Ports::One),
        }))
    }
}

fn source_name(word: &str, name: &str) -> Result<String, NetworkError> {
    let plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if name.is_empty() || !plain {
        return Err(NetworkError::Source(word.to_owned()));
    }
    Ok(name.to_owned())
}

impl Ports {
    /// The port numbers.
    pub fn as_slice(&self) -> &[u16] {
        match self {
            Self::Web => &[443, 80],
            Self::One(port) => std::slice::from_ref(port),
        }
    }
}

impl TryFrom<String> for Network {
    type Error = NetworkError;

    fn try_from(text: String) -> Result<Self, NetworkError> {
        Self::parse(text.split_whitespace())
    }
}

impl From<Network> for String {
    fn from(network: Network) -> Self {
        network.to_string()
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Public => f.write_str("public"),
            Self::Hosts(sources) => {
                let words: Vec<_> = sources.iter().map(HostSource::to_string).collect();
                f.write_str(&words.join(" "))
            }
        }
    }
}

impl fmt::Display for HostSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(HostRule { host, ports }) => match ports {
                Ports::Web => write!(f, "{host}"),
                Ports::One(port) => write!(f, "{host}:{port}"),
            },
            Self::Parameter(name) => write!(f, "parameter:{name}"),
            Self::Secret(name) => write!(f, "secret:{name}"),
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(name) => write!(f, "{name}"),
            Self::Below(name) => write!(f, "*.{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Network, NetworkError> {
        Network::parse(text.split_whitespace())
    }

    #[test]
    fn a_declaration_is_shown_as_it_was_made() {
        assert_eq!(parse("").unwrap(), Network::None);
        let declarations = [
            "none",
            "public",
            "github.com",
            "smtp.example.com:587",
            "*.example.com",
            "*.example.com:8443 parameter:repository secret:SUPABASE_URL",
        ];
        for text in declarations {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        let network = parse("GitHub.com. parameter:url secret:KEY").unwrap();
        assert_eq!(network.to_string(), "github.com parameter:url secret:KEY");
        assert_eq!(network.parameters().collect::<Vec<_>>(), ["url"]);
        assert_eq!(network.secrets().collect::<Vec<_>>(), ["KEY"]);
    }

    #[test]
    fn a_wrong_word_is_named_with_the_remedy() {
        let wrong = [
            (
                "none github.com",
                "`none` cannot be combined with other entries: remove it or the others",
            ),
            (
                "github.com public",
                "`public` cannot be combined with other entries: remove it or the others",
            ),
            (
                "*",
                "`*` means every host: write `public`, or `*.` and the domain of the hosts",
            ),
            (
                "https://github.com/a",
                "`https://github.com/a` is a URL: write its host, and a colon and its port if it is not 443 or 80",
            ),
            (
                "localhost:8080",
                "`localhost:8080` is the sandbox itself, which is always reachable: remove it",
            ),
            (
                "parameter:",
                "`parameter:` needs a name of letters, digits, `_` and `-`, as in `parameter:url`",
            ),
            (
                "secret:a/b",
                "`secret:a/b` needs a name of letters, digits, `_` and `-`, as in `parameter:url`",
            ),
            (
                "10.0.0.1:443",
                "`10.0.0.1:443`: an IP address is not accepted: use a host name",
            ),
            (
                "github.com:0",
                "`github.com:0`: a port is a number from 1 to 65535",
            ),
            (
                "a.*.com",
                "`a.*.com`: a host's name consists of ASCII letters, digits, hyphens and dots (an international one is written as xn--…)",
            ),
        ];
        for (text, message) in wrong {
            assert_eq!(parse(text).unwrap_err().to_string(), message);
        }
        let many = "a.example ".repeat(MAX_HOSTS + 1);
        assert_eq!(parse(&many), Err(NetworkError::TooMany));
    }
}
