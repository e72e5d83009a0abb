//! Web origins: the origin of this service, and the origins that may call the API.

use std::str::FromStr;

use url::Url;

/// The origin of a page (RFC 6454): scheme, host and port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebOrigin(String);

/// The error for text that is not an origin.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "must be an origin, such as https://app.example.com or http://localhost:3000, without a path and without `*`"
)]
pub struct NotAnOrigin;

impl FromStr for WebOrigin {
    type Err = NotAnOrigin;

    fn from_str(text: &str) -> Result<Self, NotAnOrigin> {
        let url = Url::parse(text).map_err(|_| NotAnOrigin)?;
        let is_bare = url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        let is_host = url.host_str().is_some_and(|host| !host.contains('*'));
        if !is_bare || !is_host || !matches!(url.scheme(), "http" | "https") {
            return Err(NotAnOrigin);
        }
        // Written as browsers do: in lower case, and without the port that the scheme implies.
        Ok(Self(url.origin().ascii_serialization()))
    }
}

impl WebOrigin {
    /// Whether its scheme is HTTPS.
    fn is_secure(&self) -> bool {
        self.0.starts_with("https://")
    }
}

/// The configured origins.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    /// The origin of the service in browsers. Without it, the `Host` of each request is used.
    pub own: Option<WebOrigin>,
    /// The origins whose pages may call the API with a key.
    pub allowed: Vec<WebOrigin>,
}

impl Origins {
    /// Whether browsers reach this service over TLS, according to the configured origin.
    pub(crate) fn is_secure(&self) -> bool {
        self.own.as_ref().is_some_and(WebOrigin::is_secure)
    }

    /// Whether pages of the origin may call the API.
    pub(crate) fn allows(&self, origin: &str) -> bool {
        self.allowed.iter().any(|allowed| allowed.0 == origin)
    }

    /// Whether `origin` is the origin of this service. `host` is the `Host` header of the request.
    pub(crate) fn is_own(&self, origin: &str, host: &str) -> bool {
        match &self.own {
            Some(own) => own.0 == origin,
            None => origin
                .strip_prefix("http://")
                .or_else(|| origin.strip_prefix("https://"))
                .is_some_and(|it| it.eq_ignore_ascii_case(host)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_has_a_scheme_and_a_host_and_nothing_else() {
        for text in [
            "https://app.example.com",
            "http://localhost:3000/",
            "http://[::1]:80",
        ] {
            assert!(text.parse::<WebOrigin>().is_ok(), "{text}");
        }
        for text in [
            "*",
            "https://*",
            "example.com",
            "https://",
            "https://a/b",
            "https://a?b",
            "https://user@a",
            "ftp://a",
            "null",
        ] {
            assert!(text.parse::<WebOrigin>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_origin_is_compared_as_browsers_write_it() {
        for (text, origin) in [
            ("https://Skillet.Example:443/", "https://skillet.example"),
            ("http://localhost:80", "http://localhost"),
            (
                "https://skillet.example:8443",
                "https://skillet.example:8443",
            ),
        ] {
            assert_eq!(text.parse::<WebOrigin>().unwrap().0, origin);
        }
    }

    #[test]
    fn the_own_origin_is_that_of_the_request_unless_it_is_configured() {
        let mut origins = Origins::default();
        assert!(origins.is_own("http://127.0.0.1:8420", "127.0.0.1:8420"));
        assert!(!origins.is_own("http://127.0.0.1:8421", "127.0.0.1:8420"));
        origins.own = "https://skillet.example".parse().ok();
        assert!(origins.is_own("https://skillet.example", "10.0.0.1:8420"));
        assert!(!origins.is_own("http://10.0.0.1:8420", "10.0.0.1:8420"));
    }
}
