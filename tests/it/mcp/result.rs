//! Results of MCP tools.

use serde_json::{Value, json};

use super::site::Site;
use super::{McpSetup, TOKEN, program, program_with};

/// Returns the tools that the first request of a job offers to the model.
fn offered(setup: &McpSetup, marker: &str) -> Vec<Value> {
    let request = &setup.service.model.requests(marker)[0];
    request["tools"].as_array().unwrap().clone()
}

fn name(tool: &Value) -> &str {
    tool["name"].as_str().unwrap()
}

#[tokio::test]
async fn its_tools_are_called_like_any_other() {
    let Some(setup) = McpSetup::start().await else {
        return;
    };
    setup
        .serve(&[program("good")], json!({"tools": ["file.read"]}))
        .await;
    let calls = [
        ("mcp_srv_echo", json!({"text": "hello"})),
        ("mcp_srv_add_two_numbers", json!({"a": 2, "b": 3})),
        ("mcp_srv_structured", json!({})),
        ("mcp_srv_nothing", json!({})),
        ("mcp_srv_fail", json!({})),
        ("mcp_srv_echo", json!({"txt": "hello"})),
        ("mcp_srv_picture", json!({})),
        ("file_read", json!({"path": ".skillet/7-2.bin"})),
        ("mcp_srv_long", json!({"bytes": 200_000})),
        ("mcp_srv_ask", json!({})),
        ("mcp_srv_where", json!({})),
        ("file_read", json!({"path": "starts.txt"})),
    ];
    let ran = setup.run(&calls).await;
    ran[0].assert("ok", "hello\ntwice");
    ran[1].assert("ok", "5");
    ran[2].assert("ok", "{\"answer\":42}");
    ran[3].assert("ok", "[the result is empty]");
    ran[4].assert("error", "it did not work");
    ran[5].assert("error", "- /txt: is not known; there are: text");
    let seen = "look:\n[an image is in the workspace file .skillet/7-1.png: 16 bytes, image/png]\n\
                [file:///a.bin is in the workspace file .skillet/7-2.bin: 2 bytes, application/octet-stream]\n\
                [an image is damaged]\n[a link to b: file:///b]";
    ran[6].assert("ok", seen);
    assert!(ran[8].output.len() < 60_000 && ran[8].output.contains("all 200000 bytes"));
    // The server gets an error when it requests a model reply, user input or directories, and none of its requests
    // hangs.
    ran[9].assert("ok", "[-32601, -32601, -32601, -32601, {}]");
    ran[10].assert("ok", "/workspace 1000 ");
    assert!(!ran[10].output.contains("reached"), "{:?}", ran[10]);
    ran[11].assert("ok", "started");

    let tools = offered(&setup, "mcp-0");
    assert_eq!(name(&tools[0]), "file_read");
    assert_eq!(tools[1]["description"], "Says it again.");
    assert_eq!(tools[1]["input_schema"]["required"], json!(["text"]));
    let request = setup.service.model.requests("mcp-0")[0].body.to_string();
    assert!(request.contains("`mcp.srv.*` are tools of the MCP server `srv`"));
    assert!(!request.contains("IGNORE ALL ELSE"), "it instructs nobody");
}

#[tokio::test]
async fn the_model_sees_images() {
    let Some(setup) = McpSetup::start().await else {
        return;
    };
    setup.serve(&[program("good")], json!({})).await;
    let ran = setup.run(&[("mcp_srv_drawing", json!({}))]).await;
    ran[0].assert(
        "ok",
        "[an image is in the workspace file .skillet/1-1.png: ",
    );
    let asked = &setup.service.model.requests("mcp-0")[1];
    let result = asked["messages"][2]["content"][0]["content"].clone();
    assert_eq!(result[1]["type"], "image", "{result:#}");
}

#[tokio::test]
async fn a_server_that_knows_only_the_new_handshake_is_understood() {
    let Some(setup) = McpSetup::start().await else {
        return;
    };
    setup.serve(&[program("modern")], json!({})).await;
    let ran = setup
        .run(&[("mcp_srv_echo", json!({"text": "hello"}))])
        .await;
    ran[0].assert("ok", "hello");
}

#[tokio::test]
async fn names_that_no_provider_takes_are_made_so_and_what_cannot_be_called_is_left_out() {
    let Some(setup) = McpSetup::start().await else {
        return;
    };
    setup
        .serve(&[program("absurd")], json!({"tools": []}))
        .await;
    let wire = |end: &str| format!("mcp_srv_{}{end}", "x".repeat(64 - 8 - end.len()));
    let (first, second) = (wire(""), wire("_2"));
    let calls = [(&*first, json!({})), (&*second, json!({}))];
    let id = setup.begin(&calls, json!({})).await;
    let ended = setup.end(id).await;
    // The server does not implement these tools, but the log shows that each name was resolved correctly.
    assert_eq!(ended.calls.len(), 2, "{:#}", ended.job);
    let events = setup.service.events(&ended.id).await;
    let started = crate::support::log::data(&events, "tool.started");
    let canonical = |end: &str| format!("mcp.srv.{}_{end}", "x".repeat(60));
    assert_eq!(started[0]["tool"], canonical("a"));
    assert_eq!(started[1]["tool"], canonical("b"));
    let warnings = crate::support::log::data(&events, "log");
    let warning = warnings[0]["message"].as_str().unwrap();
    assert!(warning.starts_with("the MCP server `srv`: 98 of its tools are left out: `echo` is listed twice; `no name` has a name"), "{warning}");

    let tools = offered(&setup, "mcp-0");
    assert_eq!(tools.len(), 128);
    let long = tools.iter().find(|tool| name(tool) == first).unwrap();
    assert!(long["description"].as_str().unwrap().len() < 4200);
}

#[tokio::test]
async fn only_the_tools_that_the_agent_wants_are_offered_and_two_servers_do_not_meet() {
    let Some(setup) = McpSetup::start().await else {
        return;
    };
    let mut other = program_with("good", json!({"tools": ["ech?", "fa*"]}));
    other["name"] = json!("other-one");
    setup
        .serve(
            &[program_with("good", json!({"tools": ["echo"]})), other],
            json!({"tools": []}),
        )
        .await;
    let ran = setup
        .run(&[
            ("mcp_other-one_echo", json!({"text": "hello"})),
            ("mcp_srv_fail", json!({})),
        ])
        .await;
    ran[0].assert("ok", "hello");
    ran[1].assert("error", "there is no tool `mcp_srv_fail`; there are: mcp.srv.echo, mcp.other-one.echo, mcp.other-one.fail");
    let tools = offered(&setup, "mcp-0");
    assert_eq!(
        tools.iter().map(name).collect::<Vec<_>>(),
        ["mcp_srv_echo", "mcp_other-one_echo", "mcp_other-one_fail"]
    );
}

#[tokio::test]
async fn it_reaches_what_the_agents_commands_may_and_nothing_else() {
    let opened = [("SKILLET_EGRESS_ALLOW", "0.0.0.0/0,::/0")];
    let Some(setup) = McpSetup::with(&opened).await else {
        return;
    };
    let site = Site::start();
    let name = rustix::system::uname();
    let host = name.nodename().to_str().unwrap().to_ascii_lowercase();
    let place = format!("{host}:{}", site.port());
    let network = json!({"network": place});
    setup.serve(&[program("good")], network).await;
    let get = |url: String| ("mcp_srv_get", json!({"url": url}));
    let ran = setup
        .run(&[
            get(format!("http://{place}/words")),
            get("http://example.com/".to_owned()),
        ])
        .await;
    ran[0].assert("ok", "just words");
    ran[1].assert("ok", "403");
}

#[tokio::test]
async fn it_has_the_secrets_that_its_settings_name_and_nobody_reads_them() {
    let Some(setup) = McpSetup::start().await else {
        return;
    };
    let handed = json!({"env": {"MINE": "the {{secret:TOKEN}}", "PLAIN": "plain"}});
    setup
        .serve(&[program_with("good", handed)], json!({}))
        .await;
    let ran = setup.run(&[("mcp_srv_environment", json!({}))]).await;
    let environment: Value = serde_json::from_str(&ran[0].output[..ran[0].output.len()]).unwrap();
    assert_eq!(environment["MINE"], "the [secret TOKEN]");
    assert_eq!(
        (&environment["PLAIN"], &environment["HOME"]),
        (&json!("plain"), &json!("/workspace"))
    );
    // An MCP server does not get the secrets of the job's commands.
    assert_eq!(environment["TOKEN"], Value::Null);
    assert!(!setup.service.dump().await.contains(TOKEN));
    assert!(!setup.service.logs().contains(TOKEN));
    let requests = setup.service.model.requests("mcp-0");
    assert!(
        requests
            .iter()
            .all(|request| !request.body.to_string().contains(TOKEN))
    );
}
