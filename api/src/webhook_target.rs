//! The policy for webhook addresses, which is checked when a webhook is created and again at each connection.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use ipnet::IpNet;
use reqwest::redirect;
use shared::address::{AddressError, AddressPolicy};
use tokio::net::lookup_host;
use tokio::time::timeout;
use url::Url;

/// The maximum length of a URL.
const MAX_URL_BYTES: usize = 2048;
/// The permitted ports below 1024.
const LOW_PORTS: [u16; 2] = [80, 443];
/// The first port that is not reserved for other protocols.
const FIRST_HIGH_PORT: u16 = 1024;
/// The longest DNS lookup when a webhook is created. A name that takes longer is checked only at the connection.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(3);
/// The number of concurrent DNS lookups of a request.
const PARALLEL_LOOKUPS: usize = 32;
/// The time after which an unused connection is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);

/// The policy for the addresses of webhooks.
#[derive(Clone)]
pub struct WebhookTargets {
    /// The policy for `https`: public addresses, and private networks that the operator allows.
    policy: AddressPolicy,
    has_master_key: bool,
}

/// The reason that a URL cannot be used for a webhook.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WebhookUrlError {
    /// The URL is malformed.
    #[error("must be a URL such as https://example.com/hook, of at most {MAX_URL_BYTES} bytes")]
    Malformed,
    /// The URL contains credentials, which would be stored and shown.
    #[error(
        "must not contain a user name or a password; verify the signature to authenticate deliveries"
    )]
    Credentials,
    /// The port is reserved for another protocol.
    #[error("must have port 80, 443, or 1024 or higher")]
    Port,
    /// The content would be sent without encryption.
    #[error(
        "must begin with https://; http:// is for private networks that the operator opened with --webhook-allow"
    )]
    NotEncrypted,
    /// The address is not public.
    #[error(
        "address_refused: the address is not public; the operator can open a private network with --webhook-allow"
    )]
    NotPublic,
}

/// The URLs that cannot be used for a webhook, each with the reason.
pub(crate) type RefusedUrls = HashMap<String, WebhookUrlError>;

impl WebhookTargets {
    /// Creates the policy. `opened` are the private networks that the operator allows. Without a master key, webhooks
    /// are not available.
    pub fn new(opened: &[IpNet], has_master_key: bool) -> Self {
        Self {
            policy: AddressPolicy::new(opened.into()),
            has_master_key,
        }
    }

    /// Whether the service has a master key, which is required to sign deliveries.
    pub(crate) fn has_master_key(&self) -> bool {
        self.has_master_key
    }

    /// Checks a URL, and its address if the name can be resolved now.
    pub(crate) async fn check(&self, text: &str) -> Result<(), WebhookUrlError> {
        let url = parse(text)?;
        let policy = self.policy_of(&url);
        let is_plain = url.scheme() == "http";
        let is_permitted = match url.host() {
            Some(url::Host::Domain(name)) => {
                match timeout(LOOKUP_TIMEOUT, lookup_host((name, 0))).await {
                    Ok(Ok(mut found)) => found.any(|address| policy.permits(address.ip())),
                    // The name may resolve later. Without encryption, the address must be known to be in an allowed
                    // private network.
                    Ok(Err(_)) | Err(_) => !is_plain,
                }
            }
            _ => policy.permits_url(&url).is_ok(),
        };
        match (is_permitted, is_plain) {
            (true, _) => Ok(()),
            (false, true) => Err(WebhookUrlError::NotEncrypted),
            (false, false) => Err(WebhookUrlError::NotPublic),
        }
    }

    /// Checks several URLs concurrently, and returns those that cannot be used.
    pub(crate) async fn check_all(&self, urls: BTreeSet<String>) -> RefusedUrls {
        let checks = stream::iter(urls).map(async |url| {
            let refused = self.check(&url).await.err()?;
            Some((url, refused))
        });
        let checked = checks.buffer_unordered(PARALLEL_LOOKUPS);
        checked.filter_map(async |refused| refused).collect().await
    }

    fn policy_of(&self, url: &Url) -> AddressPolicy {
        match url.scheme() {
            "http" => self.policy.only_opened(),
            _ => self.policy.clone(),
        }
    }
}

fn parse(text: &str) -> Result<Url, WebhookUrlError> {
    if text.len() > MAX_URL_BYTES {
        return Err(WebhookUrlError::Malformed);
    }
    let url = Url::parse(text).map_err(|_| WebhookUrlError::Malformed)?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() || url.fragment().is_some() {
        return Err(WebhookUrlError::Malformed);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(WebhookUrlError::Credentials);
    }
    match url.port_or_known_default() {
        Some(port) if port >= FIRST_HIGH_PORT || LOW_PORTS.contains(&port) => Ok(url),
        _ => Err(WebhookUrlError::Port),
    }
}

/// HTTP clients that enforce the policy at each connection, and do not follow redirects.
pub(crate) struct WebhookClients {
    targets: WebhookTargets,
    encrypted: reqwest::Client,
    plain: reqwest::Client,
}

impl WebhookClients {
    pub(crate) fn new(targets: WebhookTargets) -> reqwest::Result<Self> {
        let client = |policy: &AddressPolicy| {
            policy
                .client()
                .pool_idle_timeout(IDLE_TIMEOUT)
                .redirect(redirect::Policy::none())
                .build()
        };
        Ok(Self {
            encrypted: client(&targets.policy)?,
            plain: client(&targets.policy.only_opened())?,
            targets,
        })
    }

    /// Returns the client for a URL, or an error if its host is an address that is not permitted. The client checks the
    /// addresses of host names itself.
    pub(crate) fn of(&self, url: &Url) -> Result<&reqwest::Client, AddressError> {
        self.targets.policy_of(url).permits_url(url)?;
        Ok(if url.scheme() == "http" {
            &self.plain
        } else {
            &self.encrypted
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn refusal(opened: &[&str], url: &str) -> Option<String> {
        let opened: Vec<_> = opened.iter().map(|it| it.parse().unwrap()).collect();
        let checked = WebhookTargets::new(&opened, true).check(url).await;
        checked.err().map(|error| format!("{error:?}"))
    }

    #[tokio::test]
    async fn only_encrypted_public_addresses_are_permitted() {
        for (url, expected) in [
            ("https://1.1.1.1/hook?a=b", None),
            ("https://1.1.1.1:8443/", None),
            ("http://1.1.1.1/", Some("NotEncrypted")),
            ("http://127.0.0.1/", Some("NotEncrypted")),
            ("https://127.0.0.1/", Some("NotPublic")),
            (
                "https://169.254.169.254/latest/meta-data",
                Some("NotPublic"),
            ),
            ("https://[::1]/", Some("NotPublic")),
            ("https://localhost/", Some("NotPublic")),
            ("https://1.1.1.1:22/", Some("Port")),
            ("https://user@1.1.1.1/", Some("Credentials")),
            ("https://:secret@1.1.1.1/", Some("Credentials")),
            ("ftp://1.1.1.1/", Some("Malformed")),
            ("https://1.1.1.1/#top", Some("Malformed")),
            ("example.com", Some("Malformed")),
            ("", Some("Malformed")),
        ] {
            assert_eq!(refusal(&[], url).await.as_deref(), expected, "{url}");
        }
        let long = format!("https://1.1.1.1/{}", "a".repeat(MAX_URL_BYTES));
        assert_eq!(refusal(&[], &long).await.as_deref(), Some("Malformed"));
    }

    #[tokio::test]
    async fn of_several_urls_those_that_cannot_be_used_are_returned() {
        let urls = [
            "https://1.1.1.1/",
            "https://127.0.0.1/",
            "https://[::1]/",
            "ftp://a",
        ];
        let urls = urls.map(str::to_owned).into();
        let refused = WebhookTargets::new(&[], true).check_all(urls).await;
        let mut refused: Vec<_> = refused.keys().map(String::as_str).collect();
        refused.sort_unstable();
        assert_eq!(refused, ["ftp://a", "https://127.0.0.1/", "https://[::1]/"]);
    }

    #[tokio::test]
    async fn an_opened_network_may_be_reached_without_encryption() {
        for (url, expected) in [
            ("http://127.0.0.1:8000/", None),
            ("https://127.0.0.1/", None),
            ("http://localhost:8000/", None),
            ("http://10.0.0.1/", Some("NotEncrypted")),
            ("https://10.0.0.1/", Some("NotPublic")),
            ("http://1.1.1.1/", Some("NotEncrypted")),
        ] {
            let found = refusal(&["127.0.0.0/8", "::1/128"], url).await;
            assert_eq!(found.as_deref(), expected, "{url}");
        }
    }
}
