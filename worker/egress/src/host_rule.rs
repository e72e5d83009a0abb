//! Rules for hosts and ports, applied to names before they are resolved.

use std::fmt;

use shared::host::HostName;
use shared::skill::{HostPattern, HostRule, Ports};

/// The hosts and ports that a job can connect to, by name. The rules are checked before a name is resolved.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rules {
    /// Every host, on the ports of the web.
    Public,
    /// Only these hosts and ports.
    Hosts(Vec<HostRule>),
}

impl Rules {
    /// Returns whether a connection to this host and port is permitted.
    pub(super) fn permit(&self, host: &HostName, port: u16) -> bool {
        match self {
            Self::Public => Ports::Web.as_slice().contains(&port),
            Self::Hosts(rules) => rules
                .iter()
                .any(|rule| rule.ports.as_slice().contains(&port) && names(&rule.host, host)),
        }
    }
}

fn names(pattern: &HostPattern, host: &HostName) -> bool {
    match pattern {
        HostPattern::Exact(name) => name == host,
        // The dot keeps `evilallowed.com` out of `*.allowed.com`.
        HostPattern::Below(suffix) => host
            .as_str()
            .strip_suffix(suffix.as_str())
            .is_some_and(|rest| rest.ends_with('.')),
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Public => f.write_str("any public host on ports 80 and 443"),
            Self::Hosts(rules) => {
                let places: Vec<String> = rules
                    .iter()
                    .flat_map(|HostRule { host, ports }| {
                        let ports = ports.as_slice().iter();
                        ports.map(move |port| format!("{host}:{port}"))
                    })
                    .collect();
                f.write_str(&places.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shared::skill::{HostSource, Network};

    fn rules(words: &str) -> Rules {
        let Network::Hosts(sources) = Network::parse(words.split(' ')).unwrap() else {
            return Rules::Public;
        };
        let rules = sources.into_iter().map(|source| match source {
            HostSource::Fixed(rule) => rule,
            other => panic!("{other} is not fixed"),
        });
        Rules::Hosts(rules.collect())
    }

    fn permits(rules: &Rules, place: &str) -> bool {
        let (host, port) = HostName::parse_with_port(place).unwrap();
        rules.permit(&host, port.unwrap())
    }

    #[test]
    fn an_exact_host_is_that_host_on_its_port() {
        let rules = rules("github.com mail.example.com:587");
        for place in ["github.com:443", "GITHUB.com.:80", "mail.example.com:587"] {
            assert!(permits(&rules, place), "{place}");
        }
        for place in [
            "github.com:22",
            "github.com:444",
            "api.github.com:443",
            "github.com.evil.com:443",
            "evilgithub.com:443",
            "com:443",
            "mail.example.com:443",
            "localhost:443",
        ] {
            assert!(!permits(&rules, place), "{place}");
        }
        assert_eq!(
            rules.to_string(),
            "github.com:443, github.com:80, mail.example.com:587"
        );
    }

    #[test]
    fn a_suffix_means_the_names_below_it_and_not_itself() {
        let rules = rules("*.allowed.com:443");
        for place in ["a.allowed.com:443", "a.b.Allowed.COM:443"] {
            assert!(permits(&rules, place), "{place}");
        }
        for place in [
            "allowed.com:443",
            "evilallowed.com:443",
            "allowed.com.evil.com:443",
            "a.allowed.com.evil.com:443",
            "a.allowed.com:80",
            "allowed.co:443",
        ] {
            assert!(!permits(&rules, place), "{place}");
        }
        assert_eq!(rules.to_string(), "*.allowed.com:443");
    }

    #[test]
    fn public_means_any_name_on_the_ports_of_the_web() {
        let rules = rules("public");
        assert!(permits(&rules, "example.com:443") && permits(&rules, "example.com:80"));
        assert!(!permits(&rules, "example.com:25") && !permits(&rules, "example.com:8443"));
        assert_eq!(rules.to_string(), "any public host on ports 80 and 443");
    }

    fn label() -> impl Strategy<Value = String> {
        "[a-z]([a-z0-9-]{0,8}[a-z0-9])?"
    }

    proptest! {
        #[test]
        fn a_suffix_permits_exactly_what_ends_in_a_dot_and_the_suffix(
            before in proptest::collection::vec(label(), 0..4),
            glued in "[a-z]{0,3}",
            after in proptest::option::of(label()),
            port in prop_oneof![Just(443_u16), any::<u16>().prop_filter("0 is no port", |port| *port != 0)],
        ) {
            let mut labels = before.clone();
            labels.push(format!("{glued}allowed"));
            labels.push("com".to_owned());
            labels.extend(after.clone());
            let name = labels.join(".");
            let expected = !before.is_empty() && glued.is_empty() && after.is_none() && port == 443;
            let host = HostName::parse(&name).unwrap();
            // `after` may complete the suffix by itself only if it is `com` after `allowed`.
            prop_assume!(after.as_deref() != Some("com") || before.is_empty());
            prop_assert_eq!(rules("*.allowed.com:443").permit(&host, port), expected, "{}", name);
        }
    }
}
