//! Client-facing settings of an MCP server.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::check::{MAX_TIMEOUT_SECONDS, check_access, check_tools, is_name};
use super::{McpAccess, McpServer};
use crate::whole_number::WholeNumber;

/// An MCP server of an agent. Exactly one of `command` and `url` is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = McpServer)]
pub struct McpServerSettings {
    /// The name: at most 32 lower-case letters, digits, `-` and `_`. The server's tools are named `mcp.<name>.<tool>`.
    #[schema(example = "tracker", pattern = "^[a-z0-9][a-z0-9_-]{0,31}$")]
    pub name: String,
    /// A program with its arguments. It runs in the job's sandbox during each attempt and communicates over its
    /// standard input and output.
    #[serde(default)]
    #[schema(example = json!(["python3", "server.py"]))]
    pub command: Option<Vec<String>>,
    /// Environment variables of the program. `{{secret:NAME}}` stands for a secret that the agent declares. The
    /// program receives no other secrets.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The URL of a server that speaks streamable HTTP. Its address must be public or in a network that the operator
    /// opened.
    #[serde(default)]
    pub url: Option<String>,
    /// Header fields of each request to the server. `{{secret:NAME}}` works as in `env`.
    #[serde(default)]
    #[schema(example = json!({"Authorization": "Bearer {{secret:TRACKER_TOKEN}}"}))]
    pub headers: BTreeMap<String, String>,
    /// Patterns for the names of the server's tools that the model can use. `*` stands for any characters and `?` for
    /// one character. Null means all tools.
    #[serde(default)]
    #[schema(max_items = 128)]
    pub tools: Option<Vec<String>>,
    /// The timeout of a tool call, in seconds. Null means 60.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 600)]
    pub timeout_seconds: Option<WholeNumber>,
}

/// An error in the settings of a server.
#[derive(Debug, PartialEq, Eq)]
pub struct McpFault {
    /// The location of the error, as a JSON Pointer.
    pub place: String,
    /// A message that says what is valid.
    pub remedy: String,
}

/// All errors in the settings of a server.
#[derive(Debug)]
pub struct McpFaults(pub Vec<McpFault>);

impl McpServer {
    /// Validates the settings of a server. Returns all errors together.
    pub fn parse(settings: McpServerSettings) -> Result<Self, McpFaults> {
        let mut faults = Vec::new();
        let mut wrong = |place: &str, remedy: &str| {
            faults.push(McpFault {
                place: place.to_owned(),
                remedy: remedy.to_owned(),
            });
        };
        if !is_name(&settings.name) {
            wrong(
                "/name",
                "must be 1 to 32 lower-case letters, digits, `-` and `_`, and begin with a letter or a digit",
            );
        }
        check_tools(settings.tools.as_deref(), &mut wrong);
        let timeout_seconds = settings.timeout_seconds.and_then(WholeNumber::get);
        let seconds = timeout_seconds.filter(|it| (1..=MAX_TIMEOUT_SECONDS).contains(it));
        if settings.timeout_seconds.is_some() && seconds.is_none() {
            wrong("/timeout_seconds", "must be a whole number from 1 to 600");
        }
        let access = check_access(
            settings.command,
            settings.env,
            settings.url,
            settings.headers,
            &mut wrong,
        );
        match access {
            Some(access) if faults.is_empty() => Ok(Self {
                name: settings.name,
                access,
                tools: settings.tools,
                timeout_seconds,
            }),
            _ => Err(McpFaults(faults)),
        }
    }
}

impl TryFrom<McpServerSettings> for McpServer {
    type Error = McpFaults;

    fn try_from(settings: McpServerSettings) -> Result<Self, McpFaults> {
        Self::parse(settings)
    }
}

impl From<McpServer> for McpServerSettings {
    fn from(server: McpServer) -> Self {
        let common = Self {
            name: server.name,
            tools: server.tools,
            timeout_seconds: server.timeout_seconds.map(WholeNumber::from),
            ..Self::default()
        };
        match server.access {
            McpAccess::Program { command, env } => Self {
                command: Some(command),
                env,
                ..common
            },
            McpAccess::Service { url, headers } => Self {
                url: Some(url),
                headers,
                ..common
            },
        }
    }
}

impl fmt::Display for McpFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults = self.0.iter();
        let lines: Vec<_> = faults
            .map(|fault| format!("{} {}", fault.place, fault.remedy))
            .collect();
        f.write_str(&lines.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn parse(settings: Value) -> Result<McpServer, Vec<(String, String)>> {
        let settings = serde_json::from_value(settings).unwrap();
        McpServer::parse(settings).map_err(|McpFaults(faults)| {
            let faults = faults.into_iter();
            faults.map(|it| (it.place, it.remedy)).collect()
        })
    }

    #[test]
    fn a_server_is_stored_as_it_was_put() {
        let put = json!({
            "name": "tracker", "command": null, "env": {}, "url": "https://example.com/mcp",
            "headers": {"Authorization": "Bearer {{secret:TOKEN}}"}, "tools": ["get_*"], "timeout_seconds": 5,
        });
        let server = parse(put.clone()).unwrap();
        let named: Vec<_> = server
            .secrets()
            .map(|(at, name)| (at, name.to_string()))
            .collect();
        assert_eq!(
            named,
            [("/headers/Authorization".to_owned(), "TOKEN".to_owned())]
        );
        assert!(server.exposes("get_issue") && !server.exposes("close"));
        assert_eq!(server.timeout().as_secs(), 5);
        assert_eq!(serde_json::to_value(&server).unwrap(), put);
        let server = parse(json!({"name": "a", "command": ["cat"]})).unwrap();
        assert!(server.exposes("anything") && server.secrets().next().is_none());
    }

    #[test]
    fn all_that_is_wrong_is_named_with_its_place() {
        let refused = parse(json!({
            "name": "Tracker", "command": ["{{secret:A}}"], "env": {"1A": "", "B": "a\u{0}", "C": "{{secret:c}}", "D": "{{secret:"},
            "headers": {"Host": "x", "X Y": "", "A/B": "b"}, "tools": ["", "ok"], "timeout_seconds": 0,
        }));
        let faults = refused.unwrap_err();
        let places: Vec<_> = faults.iter().map(|(place, _)| &**place).collect();
        let expected = [
            "/name",
            "/tools/0",
            "/timeout_seconds",
            "/env/1A",
            "/env/B",
            "/env/C",
            "/env/D",
            "/headers/A~1B",
            "/headers/Host",
            "/headers/X Y",
            "/headers",
            "/command",
        ];
        assert_eq!(places, expected, "{faults:#?}");
        for (settings, place) in [
            (json!({"name": "a"}), ""),
            (
                json!({"name": "a", "command": ["b"], "url": "https://c.d"}),
                "",
            ),
            (json!({"name": "a", "command": []}), "/command"),
            (json!({"name": "a", "command": [""]}), "/command"),
            (
                json!({"name": "a", "command": ["x".repeat(20_000)]}),
                "/command",
            ),
            (
                json!({"name": "a", "url": "https://c.d", "env": {"A": "b"}}),
                "/env",
            ),
            (json!({"name": "a", "url": "c.d"}), "/url"),
            (json!({"name": "-a", "command": ["b"]}), "/name"),
            (json!({"name": "a".repeat(33), "command": ["b"]}), "/name"),
        ] {
            let faults = parse(settings.clone()).unwrap_err();
            assert!(
                matches!(&faults[..], [(at, _)] if at == place),
                "{settings}: {faults:?}"
            );
        }
    }
}
