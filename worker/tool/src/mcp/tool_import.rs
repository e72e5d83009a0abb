//! Import of a server's tools: the checks, the limits, and the definitions that the model sees.

use std::collections::HashSet;

use rmcp::model::Tool;
use serde_json::Value;
use shared::hook::MCP_PREFIX;
use shared::mcp::McpServer;
use shared::schema::Schema;

use super::schema;
use worker_model::ToolSpec;
use worker_workspace::Redactor;

/// The maximum number of tools of all servers of a job. A model cannot choose well from more.
const MAX_TOOLS: usize = 128;
/// The number of a server's tools after which no further ones are listed.
pub(super) const MAX_LISTED: usize = 1000;
/// The maximum number of bytes of all tools, which are sent with each request to the model.
const MAX_BYTES: usize = 512 * 1024;
const MAX_NAME_BYTES: usize = 128;
const MAX_DESCRIPTION_BYTES: usize = 4 * 1024;
const MAX_SCHEMA_BYTES: usize = 32 * 1024;
/// The maximum number of tools that a warning names. Further tools are only counted.
const MAX_NAMED: usize = 5;

/// A tool as the model sees it.
pub(super) struct ToolImport {
    /// The server's name for the tool.
    pub(super) name: String,
    /// The definition that the model sees.
    pub(super) spec: ToolSpec,
    /// The schema that checks the arguments.
    pub(super) schema: Schema,
}

/// The remaining space for imported tools, across all servers of a job.
pub(super) struct RemainingSpace {
    tools: usize,
    bytes: usize,
}

impl Default for RemainingSpace {
    fn default() -> Self {
        Self {
            tools: MAX_TOOLS,
            bytes: MAX_BYTES,
        }
    }
}

/// Selects the tools of a server for the model. Also returns a warning if tools are left out or there are none.
pub(super) fn choose(
    server: &McpServer,
    listed: Vec<Tool>,
    redactor: Option<&Redactor>,
    room: &mut RemainingSpace,
) -> (Vec<ToolImport>, Option<String>) {
    let (mut imports, mut left_out) = (Vec::new(), Vec::new());
    let mut seen = HashSet::new();
    let has_any = !listed.is_empty();
    for tool in listed {
        if !server.exposes(&tool.name) {
            continue;
        }
        let judged = match seen.insert(tool.name.clone()) {
            true => judge(server, &tool, redactor).and_then(|import| room.take(import)),
            false => Err("is listed twice".to_owned()),
        };
        match judged {
            Ok(import) => imports.push(import),
            Err(why) => left_out.push(format!("`{}` {why}", shown(&tool.name, redactor))),
        }
    }
    let warning = match left_out.len() {
        0 if imports.is_empty() && has_any => {
            Some("it has none of the tools that the agent names".to_owned())
        }
        0 if imports.is_empty() => Some("it has no tools".to_owned()),
        0 => None,
        count => {
            left_out.truncate(MAX_NAMED);
            let named = left_out.join("; ");
            let more = count - left_out.len();
            let more = if more > 0 {
                format!("; and {more} more")
            } else {
                String::new()
            };
            Some(format!("{count} of its tools are left out: {named}{more}"))
        }
    };
    let warning = warning.map(|what| format!("the MCP server `{}`: {what}", server.name));
    (imports, warning)
}

/// Returns the tool as the model sees it, or the reason why it is left out.
fn judge(
    server: &McpServer,
    tool: &Tool,
    redactor: Option<&Redactor>,
) -> Result<ToolImport, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
    let name = &*tool.name;
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_plain) {
        return Err(
            "has a name that is empty, too long, or not of letters, digits, `_`, `-`, `.` and `/`"
                .to_owned(),
        );
    }
    let canonical = format!("{MCP_PREFIX}{}.{name}", server.name);
    let mut description = describe(server, tool);
    let mut input_schema = Value::Object((*tool.input_schema).clone());
    if let Some(redactor) = redactor {
        if redactor.redact(&canonical) != canonical {
            return Err("has the value of a secret in its name".to_owned());
        }
        redactor.clean(&mut description);
        redactor.clean_json(&mut input_schema);
    }
    if description.len() > MAX_DESCRIPTION_BYTES {
        description.truncate(description.floor_char_boundary(MAX_DESCRIPTION_BYTES));
        description.push('…');
    }
    let Value::Object(fields) = &input_schema else {
        return Err("has no schema".to_owned());
    };
    if fields.get("type").is_none_or(|kind| kind != "object") {
        return Err("has a schema whose type is not `object`".to_owned());
    }
    if input_schema.to_string().len() > MAX_SCHEMA_BYTES {
        return Err(format!(
            "has a schema of more than {MAX_SCHEMA_BYTES} bytes"
        ));
    }
    let schema = schema::compile(fields);
    Ok(ToolImport {
        name: name.to_owned(),
        schema: schema.map_err(|_| "has an invalid schema".to_owned())?,
        spec: ToolSpec {
            name: canonical.into(),
            description,
            input_schema,
        },
    })
}

fn describe(server: &McpServer, tool: &Tool) -> String {
    let said = tool.description.as_deref().or(tool.title.as_deref());
    let said = said.unwrap_or_default().trim();
    if said.is_empty() {
        return format!(
            "A tool of the MCP server `{}`, which says nothing of it.",
            server.name
        );
    }
    let is_text = |char: &char| !char.is_control() || matches!(char, '\n' | '\t');
    said.chars().filter(is_text).collect()
}

/// Returns any name in a form for people.
fn shown(name: &str, redactor: Option<&Redactor>) -> String {
    let name = redactor.map_or(name.into(), |redactor| redactor.redact(name));
    let mut chars = name.chars();
    let mut shown: String = chars.by_ref().take(40).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown.escape_debug().to_string()
}

impl RemainingSpace {
    fn take(&mut self, import: ToolImport) -> Result<ToolImport, String> {
        let spec = &import.spec;
        let bytes = spec.description.len() + spec.input_schema.to_string().len();
        if self.tools == 0 {
            return Err(format!("exceeds the limit of {MAX_TOOLS} tools of a job"));
        }
        if self.bytes < bytes {
            return Err(format!(
                "exceeds the limit of {MAX_BYTES} bytes of descriptions and schemas"
            ));
        }
        self.tools -= 1;
        self.bytes -= bytes;
        Ok(import)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, description: &str, schema: Value) -> Tool {
        let listed = json!({"name": name, "description": description, "inputSchema": schema});
        serde_json::from_value(listed).unwrap()
    }

    fn server(more: Value) -> McpServer {
        let mut settings = json!({"name": "srv", "command": ["cat"]});
        settings
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        serde_json::from_value(settings).unwrap()
    }

    fn names(imports: &[ToolImport]) -> Vec<&str> {
        imports.iter().map(|import| &*import.spec.name).collect()
    }

    #[test]
    fn what_no_model_could_call_is_left_out_and_said() {
        let object = json!({"type": "object"});
        let listed = vec![
            tool("good/one.a-b_C", " does\0 it ", object.clone()),
            tool("", "", object.clone()),
            tool("with space", "", object.clone()),
            tool("Größe", "", object.clone()),
            tool(&"x".repeat(129), "", object.clone()),
            tool("array", "", json!({"type": "array"})),
            tool("untyped", "", json!({})),
            tool("broken", "", json!({"type": "object", "properties": 5})),
            tool(
                "huge",
                "",
                json!({"type": "object", "title": "x".repeat(MAX_SCHEMA_BYTES)}),
            ),
            tool("good/one.a-b_C", "", object.clone()),
            tool("silent", "", object),
        ];
        let (imports, warning) = choose(
            &server(json!({})),
            listed,
            None,
            &mut RemainingSpace::default(),
        );
        assert_eq!(
            names(&imports),
            ["mcp.srv.good/one.a-b_C", "mcp.srv.silent"]
        );
        assert_eq!(imports[0].spec.description, "does it");
        assert!(
            imports[1]
                .spec
                .description
                .starts_with("A tool of the MCP server `srv`")
        );
        let warning = warning.unwrap();
        assert!(
            warning.starts_with("the MCP server `srv`: 9 of its tools are left out: `` has a name"),
            "{warning}"
        );
        assert!(
            warning.ends_with("; and 4 more") && warning.len() < 1000,
            "{warning}"
        );
    }

    #[test]
    fn the_model_gets_what_the_agent_wants_and_what_there_is_room_for() {
        let object = json!({"type": "object"});
        let many = |prefix: &str| {
            (0..100)
                .map(|n| tool(&format!("{prefix}_{n}"), "", object.clone()))
                .collect::<Vec<_>>()
        };
        let listed = || [many("get"), many("set")].concat();
        let mut room = RemainingSpace::default();
        let picky = server(json!({"tools": ["get_*", "set_7"]}));
        let (imports, warning) = choose(&picky, listed(), None, &mut room);
        assert_eq!((imports.len(), warning), (101, None));
        let (imports, warning) = choose(&server(json!({})), listed(), None, &mut room);
        assert_eq!(imports.len(), 27);
        assert!(warning.unwrap().contains("173 of its tools are left out"));
        let (imports, warning) =
            choose(&server(json!({"tools": ["no"]})), listed(), None, &mut room);
        assert!(
            imports.is_empty()
                && warning
                    .unwrap()
                    .contains("none of the tools that the agent names")
        );
        let long = vec![tool("long", &"é".repeat(MAX_DESCRIPTION_BYTES), object)];
        let (imports, _) = choose(
            &server(json!({})),
            long,
            None,
            &mut RemainingSpace::default(),
        );
        assert!(imports[0].spec.description.len() <= MAX_DESCRIPTION_BYTES + 3);
    }

    #[test]
    fn a_secret_that_a_server_shows_does_not_reach_the_model() {
        let redactor = Redactor::new([("KEY", "hunter2-hunter2")].into_iter());
        let listed = vec![
            tool(
                "a",
                "say hunter2-hunter2",
                json!({"type": "object", "title": "hunter2-hunter2"}),
            ),
            tool("hunter2-hunter2", "", json!({"type": "object"})),
        ];
        let (imports, warning) = choose(
            &server(json!({})),
            listed,
            Some(&redactor),
            &mut RemainingSpace::default(),
        );
        assert_eq!(names(&imports), ["mcp.srv.a"]);
        let spec = &imports[0].spec;
        assert_eq!(
            (&*spec.description, &spec.input_schema["title"]),
            ("say [secret KEY]", &json!("[secret KEY]"))
        );
        assert!(warning.is_some());
    }
}
