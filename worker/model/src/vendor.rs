//! The hosts of the vendors that defined the wire formats.

use reqwest::Url;

/// Whether the host of a URL is one of these domains or a subdomain of one.
pub(crate) fn is_host_of(url: &str, domains: &[&str]) -> bool {
    let url = Url::parse(url.trim()).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    domains.iter().any(|domain| {
        let before = host.strip_suffix(domain);
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    })
}
