//! Egress rules from a skill's declaration, the job's parameters and its secrets.

use serde_json::{Map, Value};
use shared::skill::network::{MAX_HOSTS, ParameterError, ValueError};
use shared::skill::{HostRule, HostSource, Network};

use super::host_rule::Rules;

/// The reason why a job cannot have the network that its skill declares. The messages contain no value, because it may
/// be a secret.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// A secret is not a host.
    #[error("the secret `{name}` names no host that can be reached")]
    Secret {
        /// The secret.
        name: String,
        /// The problem with its value.
        #[source]
        cause: ValueError,
    },
    /// A parameter is not a host.
    #[error("the parameter `{name}` is not a host")]
    Parameter {
        /// The parameter.
        name: String,
        /// The problem with its value.
        #[source]
        cause: ParameterError,
    },
    /// There are more hosts than the limit.
    #[error("the job names more than {MAX_HOSTS} hosts")]
    TooMany,
}

/// Returns the rules of a declaration for one job, or `None` if it names no host. A missing parameter or secret names
/// no host. The skill declares whether it is required, and that was checked before.
pub(super) fn rules(
    network: &Network,
    parameters: &Map<String, Value>,
    secret: impl Fn(&str) -> Option<String>,
) -> Result<Option<Rules>, EgressError> {
    let sources = match network {
        Network::None => return Ok(None),
        Network::Public => return Ok(Some(Rules::Public)),
        Network::Hosts(sources) => sources,
    };
    let mut rules: Vec<HostRule> = Vec::new();
    for source in sources {
        for rule in from_source(source, parameters, &secret)? {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        if rules.len() > MAX_HOSTS {
            return Err(EgressError::TooMany);
        }
    }
    Ok((!rules.is_empty()).then_some(Rules::Hosts(rules)))
}

fn from_source(
    source: &HostSource,
    parameters: &Map<String, Value>,
    secret: impl Fn(&str) -> Option<String>,
) -> Result<Vec<HostRule>, EgressError> {
    match source {
        HostSource::Fixed(rule) => Ok(vec![rule.clone()]),
        HostSource::Secret(name) => {
            let rule = secret(name).map(|value| HostRule::from_value(&value));
            let rule = rule.transpose().map_err(|cause| EgressError::Secret {
                name: name.clone(),
                cause,
            })?;
            Ok(rule.into_iter().collect())
        }
        HostSource::Parameter(name) => {
            HostRule::from_parameter(parameters.get(name)).map_err(|cause| EgressError::Parameter {
                name: name.clone(),
                cause,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use shared::host::HostError;

    /// The rules of a job whose only secret is `URL`.
    fn rules_of(words: &str, parameters: &Value) -> Result<Option<String>, EgressError> {
        let network = Network::parse(words.split(' ')).unwrap();
        let secret =
            |name: &str| (name == "URL").then(|| "postgres://u:pw@db.example.com/d".to_owned());
        rules(&network, parameters.as_object().unwrap(), secret)
            .map(|rules| rules.map(|rules| rules.to_string()))
    }

    fn allowed(words: &str, parameters: &Value) -> Option<String> {
        rules_of(words, parameters).unwrap()
    }

    #[test]
    fn hosts_come_from_the_skill_the_parameters_and_the_secrets() {
        let parameters = json!({
            "repository": "https://git.example.com/a/b.git",
            "hosts": ["a.example:8443", "https://b.example/", "https://b.example/again"],
            "unset": null,
        });
        assert_eq!(
            allowed(
                "*.github.com:443 parameter:repository secret:URL",
                &parameters
            )
            .unwrap(),
            "*.github.com:443, git.example.com:443, db.example.com:5432"
        );
        assert_eq!(
            allowed("parameter:hosts", &parameters).unwrap(),
            "a.example:8443, b.example:443"
        );
        assert_eq!(allowed("none", &parameters), None);
        assert_eq!(
            allowed("parameter:unset parameter:absent secret:OTHER", &parameters),
            None
        );
        assert_eq!(
            allowed("public", &parameters).unwrap(),
            "any public host on ports 80 and 443"
        );
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let error = |words, parameters| rules_of(words, &parameters).unwrap_err();
        let wrong = |cause| EgressError::Parameter {
            name: "url".to_owned(),
            cause,
        };
        assert_eq!(
            error("parameter:url", json!({"url": "http://10.0.0.1/"})),
            wrong(ValueError::Host(HostError::Address).into())
        );
        assert_eq!(
            error("parameter:url", json!({"url": ["a.example", 5]})),
            wrong(ParameterError::NotText)
        );
        let many: Vec<String> = (0..=MAX_HOSTS).map(|n| format!("h{n}.example")).collect();
        assert_eq!(
            error("parameter:url", json!({"url": many})),
            wrong(ParameterError::TooMany)
        );
        let half: Vec<String> = (0..MAX_HOSTS).map(|n| format!("h{n}.example")).collect();
        assert_eq!(
            error("github.com parameter:url", json!({"url": half})),
            EgressError::TooMany
        );
        let network = Network::parse(["secret:KEY"]).unwrap();
        let wrong = rules(&network, &Map::new(), |_| Some("hunter two".to_owned())).unwrap_err();
        let shown = format!("{:#}", anyhow::Error::new(wrong));
        assert_eq!(
            shown,
            "the secret `KEY` names no host that can be reached: it must be a URL or host[:port], without spaces or backslashes"
        );
    }
}
