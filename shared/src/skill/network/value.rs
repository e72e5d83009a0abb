//! Hosts in the values of parameters and secrets.

use serde_json::Value;

use super::{HostPattern, HostRule, MAX_HOSTS, Ports};
use crate::host::{HostError, HostName};

/// The reason why a value does not name a host. The message never repeats the value, because it can be a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// An SSH address. SSH needs a key, which commands do not have.
    #[error("SSH is not supported: use the https URL of the same repository")]
    Ssh,
    /// The port is missing and the scheme has no known default.
    #[error("the scheme has no default port: write the port in the URL, or host:port")]
    Scheme,
    /// The host is the sandbox itself.
    #[error("localhost is the sandbox itself: use the name by which other machines reach the host")]
    Localhost,
    /// The value contains spaces, control characters or backslashes, which URL parsers interpret differently.
    #[error("it must be a URL or host[:port], without spaces or backslashes")]
    Character,
    /// The value is not a valid host.
    #[error(transparent)]
    Host(#[from] HostError),
}

/// The reason why a parameter does not name hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// The value is neither a string nor a list of strings.
    #[error("must be a URL or host[:port], or a list of them")]
    NotText,
    /// The parameter names too many hosts.
    #[error("names more than {MAX_HOSTS} hosts")]
    TooMany,
    /// A string does not name a host.
    #[error("names no host that can be reached: {0}")]
    Value(#[from] ValueError),
}

impl HostRule {
    /// Parses the hosts that a parameter names. A missing parameter names no hosts.
    pub fn from_parameter(value: Option<&Value>) -> Result<Vec<Self>, ParameterError> {
        let texts = match value {
            None | Some(Value::Null) => &[],
            Some(Value::Array(texts)) => texts.as_slice(),
            Some(text) => std::slice::from_ref(text),
        };
        if texts.len() > MAX_HOSTS {
            return Err(ParameterError::TooMany);
        }
        let rule = |text: &Value| {
            let text = text.as_str().ok_or(ParameterError::NotText)?;
            Ok(Self::from_value(text)?)
        };
        texts.iter().map(rule).collect()
    }

    /// Parses a host and its ports: a URL or `host[:port]`.
    pub fn from_value(value: &str) -> Result<Self, ValueError> {
        let value = value.trim();
        if !value
            .chars()
            .all(|char| char.is_ascii_graphic() && char != '\\')
        {
            return Err(ValueError::Character);
        }
        let Some((scheme, rest)) = value.split_once("://") else {
            return Self::from_plain(value);
        };
        // User name and password can contain any characters except these.
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let place = match authority.rsplit_once('@') {
            Some((_, place)) => place,
            None => authority,
        };
        let default = default_port(&scheme.to_ascii_lowercase())?;
        let (host, port) = HostName::parse_with_port(place)?;
        let port = port.or(default).ok_or(ValueError::Scheme)?;
        Self::exact(host, Ports::One(port))
    }

    fn from_plain(value: &str) -> Result<Self, ValueError> {
        // People often copy `git@host:owner/repository`.
        if value.contains('@') && value.contains(':') {
            return Err(ValueError::Ssh);
        }
        // People often omit the scheme: `example.com/page`.
        let place = value.split(['/', '?', '#']).next().unwrap_or_default();
        let (host, port) = HostName::parse_with_port(place)?;
        Self::exact(host, port.map_or(Ports::Web, Ports::One))
    }

    fn exact(host: HostName, ports: Ports) -> Result<Self, ValueError> {
        if host.is_localhost() {
            return Err(ValueError::Localhost);
        }
        Ok(Self {
            host: HostPattern::Exact(host),
            ports,
        })
    }
}

/// The default port of a URL scheme.
fn default_port(scheme: &str) -> Result<Option<u16>, ValueError> {
    Ok(Some(match scheme {
        "https" | "wss" | "git+https" => 443,
        "http" | "ws" | "git+http" => 80,
        "smtp" => 25,
        "smtps" | "submissions" => 465,
        "submission" => 587,
        "imap" => 143,
        "imaps" => 993,
        "pop3" => 110,
        "pop3s" => 995,
        "postgres" | "postgresql" => 5432,
        "mysql" | "mariadb" => 3306,
        "redis" | "rediss" => 6379,
        "ssh" | "git" | "git+ssh" | "ssh+git" | "sftp" | "scp" => return Err(ValueError::Ssh),
        _ => return Ok(None),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skill::HostSource;

    fn read(value: &str) -> Result<String, ValueError> {
        HostRule::from_value(value).map(|rule| HostSource::Fixed(rule).to_string())
    }

    #[test]
    fn a_url_means_its_host_on_its_port() {
        let values = [
            ("example.com", "example.com"),
            ("Example.com:8443", "example.com:8443"),
            ("example.com/page?q=1", "example.com"),
            ("https://example.com", "example.com:443"),
            ("HTTPS://example.com./a@b:1/c", "example.com:443"),
            ("http://example.com:8080?q#f", "example.com:8080"),
            ("https://user:p@ss:w@example.com/x", "example.com:443"),
            ("postgres://u:p@db.example.com/d", "db.example.com:5432"),
            ("postgresql://db.example.com:6543/d", "db.example.com:6543"),
            ("smtp://mail.example.com", "mail.example.com:25"),
            ("smtps://mail.example.com", "mail.example.com:465"),
            ("submission://mail.example.com", "mail.example.com:587"),
            ("imap://mail.example.com", "mail.example.com:143"),
            ("imaps://mail.example.com\n", "mail.example.com:993"),
            ("mongodb://db.example.com:27017", "db.example.com:27017"),
        ];
        for (value, rule) in values {
            assert_eq!(read(value).as_deref(), Ok(rule), "{value}");
        }
    }

    #[test]
    fn a_value_without_a_host_is_refused_and_not_repeated() {
        let values = [
            ("", ValueError::Host(HostError::Empty)),
            ("https://", ValueError::Host(HostError::Empty)),
            ("https:///path", ValueError::Host(HostError::Empty)),
            ("ssh://git@github.com/a/b", ValueError::Ssh),
            ("git://github.com/a/b", ValueError::Ssh),
            ("git@github.com:a/b.git", ValueError::Ssh),
            ("mongodb://db.example.com", ValueError::Scheme),
            ("http://localhost:3000", ValueError::Localhost),
            ("app.localhost", ValueError::Localhost),
            ("http://10.0.0.1/", ValueError::Host(HostError::Address)),
            ("http://[::1]:80/", ValueError::Host(HostError::Address)),
            ("http://example.com:0/", ValueError::Host(HostError::Port)),
            ("http://good.com\\@evil.com/", ValueError::Character),
            ("good.com evil.com", ValueError::Character),
            ("good.com\r\nevil.com", ValueError::Character),
            ("me@example.com", ValueError::Host(HostError::Character)),
            ("*.example.com", ValueError::Host(HostError::Character)),
            ("javascript:alert(1)", ValueError::Host(HostError::Port)),
        ];
        for (value, error) in values {
            assert_eq!(read(value), Err(error), "{value:?}");
        }
    }
}
