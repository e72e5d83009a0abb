//! URLs of MCP servers.

use url::Url;

use crate::secret::placeholder;

const MAX_BYTES: usize = 2048;

/// Returns what is wrong with the URL of a server, or `None` if the URL is valid.
pub(super) fn fault(text: &str) -> Option<&'static str> {
    if text.len() > MAX_BYTES {
        return Some("must be at most 2048 bytes");
    }
    if placeholder::is_in(text) {
        return Some("cannot name a secret: put it into a header");
    }
    let Ok(url) = Url::parse(text) else {
        return Some("must be a URL, e.g. https://mcp.example.com/mcp");
    };
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Some("must begin with http:// or https://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Some("must not contain credentials: put them into a header, as a secret");
    }
    if url.fragment().is_some() {
        return Some("must not have a fragment: remove the # and what follows it");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_a_plain_url() {
        for good in ["https://mcp.example.com/mcp", "http://10.0.0.1:8080/x?y=z"] {
            assert_eq!(fault(good), None, "{good}");
        }
        let long = format!("https://example.com/{}", "x".repeat(MAX_BYTES));
        for bad in [
            "",
            "mcp.example.com",
            "ftp://example.com",
            "https://",
            "https://user:word@example.com",
            "https://example.com/#top",
            "https://example.com/?key={{secret:KEY}}",
            &long,
        ] {
            assert!(fault(bad).is_some(), "{bad}");
        }
    }
}
