//! Provider accounts, whose rate limits all workers share.

use std::num::NonZeroU32;

use sha2::{Digest, Sha256};

use super::Provider;

/// The number of digest bytes in an account id.
const DIGEST_BYTES: usize = 8;

/// The rate limits of an account. All workers share them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountLimits {
    /// The maximum number of requests per minute.
    pub requests_per_minute: Option<NonZeroU32>,
    /// The maximum number of tokens read and written per minute.
    pub tokens_per_minute: Option<NonZeroU32>,
    /// The maximum number of concurrent calls.
    pub max_concurrent: Option<NonZeroU32>,
}

impl AccountLimits {
    /// Whether there is no limit.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The time between two requests.
    pub fn seconds_per_request(&self) -> Option<f64> {
        self.requests_per_minute.map(seconds_per)
    }

    /// The time between two tokens.
    pub fn seconds_per_token(&self) -> Option<f64> {
        self.tokens_per_minute.map(seconds_per)
    }

    /// The maximum number of concurrent calls, in the database's type.
    pub fn max_concurrent(&self) -> Option<i32> {
        self.max_concurrent
            .map(|most| i32::try_from(most.get()).unwrap_or(i32::MAX))
    }
}

/// The part of the limit that is used. It is less than 1 because requests arrive with jitter and the provider's clock
/// differs.
const USED_PART: f64 = 0.98;

fn seconds_per(per_minute: NonZeroU32) -> f64 {
    60.0 / (f64::from(per_minute.get()) * USED_PART)
}

impl Provider {
    /// The id of the account that the key of this process belongs to. It consists of the provider's name and a digest
    /// of the key.
    pub fn account_id(&self, name: &str) -> String {
        let Some(key) = self.key() else {
            return name.to_owned();
        };
        let digest = Sha256::digest(format!("{name}\n{key}"));
        format!("{name}:{}", hex::encode(&digest[..DIGEST_BYTES]))
    }

    /// The rate limits of the provider's accounts.
    pub fn limits(&self) -> AccountLimits {
        AccountLimits {
            requests_per_minute: self.requests_per_minute,
            tokens_per_minute: self.tokens_per_minute,
            max_concurrent: self.max_concurrent,
        }
    }

    /// The host and port of the base URL.
    pub fn server(&self) -> Option<(String, Option<u16>)> {
        let url = url::Url::parse(self.base_url.trim()).ok()?;
        let host = url.host_str()?.to_owned();
        Some((host, url.port_or_known_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::ProviderKind;
    use super::*;

    #[test]
    fn an_account_is_told_by_its_key_and_does_not_reveal_it() {
        let provider = |variable: Option<&str>| {
            let variable = variable.map(str::to_owned);
            Provider::new(ProviderKind::Openai, "http://h:8080/v1".into(), variable)
        };
        assert_eq!(provider(None).account_id("ollama"), "ollama");
        // Any set variable can serve as a key.
        let path = std::env::var("PATH").unwrap();
        let id = provider(Some("PATH")).account_id("openai");
        assert!(id.starts_with("openai:") && !id.contains(&path), "{id}");
        assert_eq!(id, provider(Some("PATH")).account_id("openai"));
        assert_ne!(id[6..], provider(Some("PATH")).account_id("other!")[6..]);
        assert_eq!(provider(None).server(), Some(("h".into(), Some(8080))));
    }
}
