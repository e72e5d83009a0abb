//! Network access of commands, which reach only the hosts that their skill declares.

use std::io::{Read, Write};
use std::net::TcpListener;

use reqwest::StatusCode;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::sandbox::FIRST;
use crate::support::log::data;
use crate::support::{Service, bash};

const PAGE: &str = "a page of the origin";

/// A service, and a web server on this machine under the machine's name. Commands of the skill `caller` can reach the
/// host of its parameter, `far` can reach a host that does not exist, and `closed` can reach no host.
struct EgressSetup {
    service: Service,
    origin: String,
    port: u16,
    _skills: TempDir,
}

impl EgressSetup {
    async fn start(allowed: &str) -> Self {
        let skills = skills();
        let variables = [
            ("SKILLET_SKILLS_DIR", skills.path().to_str().unwrap()),
            ("SKILLET_EGRESS_ALLOW", allowed),
        ];
        let mut service = Service::with_environment(&variables).await;
        service.add_worker(&[]).await;
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || serve(&listener));
        let origin = format!("{}:{port}", machine());
        Self {
            service,
            origin,
            port,
            _skills: skills,
        }
    }

    /// Runs a command and returns its tool result.
    async fn reply(&self, skill: &str, command: &str) -> Value {
        self.replies(skill, &[command]).await.remove(0)
    }

    /// Runs the commands in one job and returns their tool results.
    async fn replies(&self, skill: &str, commands: &[&str]) -> Vec<Value> {
        let prompt: Vec<_> = commands.iter().map(|command| bash(command)).collect();
        let mut job = json!({"skill": skill, "model": "script/bash", "prompt": prompt.join("\n")});
        if skill == "caller" {
            job["parameters"] = json!({"url": format!("http://{}/", self.origin)});
        }
        let job = self.service.run(&job).await;
        let events = self.service.events(job["id"].as_str().unwrap()).await;
        let completed = data(&events, "tool.completed");
        let outputs = completed
            .iter()
            .map(|data| data["output"].as_str().unwrap());
        outputs
            .map(|output| serde_json::from_str(output).unwrap())
            .collect()
    }
}

fn skills() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let parameters = r#"'{"type":"object","properties":{"url":{"type":"string"}}}'"#;
    for (name, metadata) in [
        (
            "caller",
            format!("skillet.network: parameter:url\n  skillet.parameters: {parameters}"),
        ),
        ("far", "skillet.network: far.example:8080".to_owned()),
        ("closed", "skillet.network: none".to_owned()),
    ] {
        let text = format!(
            "---\nname: {name}\ndescription: Calls.\nallowed-tools: shell.exec\nmetadata:\n  {metadata}\n---\nCall.\n"
        );
        std::fs::create_dir(folder.path().join(name)).unwrap();
        std::fs::write(folder.path().join(name).join("SKILL.md"), text).unwrap();
    }
    folder
}

/// Returns a name of this machine other than `localhost`.
pub(crate) fn machine() -> String {
    let name = rustix::system::uname()
        .nodename()
        .to_str()
        .unwrap()
        .to_ascii_lowercase();
    let found = std::net::ToSocketAddrs::to_socket_addrs(&(name.as_str(), 80));
    assert!(
        found.is_ok(),
        "this test needs a machine that knows its own name, {name}, in /etc/hosts"
    );
    name
}

fn serve(listener: &TcpListener) {
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let mut request = [0; 4096];
        let _ = stream.read(&mut request);
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{PAGE}",
            PAGE.len()
        );
    }
}

/// All addresses.
pub(crate) const ANY: &str = "0.0.0.0/0,::/0";
/// Returns a command that sends a request without the proxy, over a connection of bash.
fn by_hand(origin: &str) -> String {
    let (host, port) = origin.split_once(':').unwrap();
    format!("exec 3<>/dev/tcp/{host}/{port}; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3")
}

#[tokio::test]
async fn a_declared_host_is_reached_through_the_proxy_and_without_one() {
    let setup = EgressSetup::start(ANY).await;
    let origin = &setup.origin;
    let curl = setup
        .reply("caller", &format!("curl -sS http://{origin}/"))
        .await;
    assert_eq!(curl["stdout"], PAGE, "{curl:#}");
    let socks = format!("curl -sS --noproxy '' -x socks5h://127.0.0.1:3128 http://{origin}/");
    let socks = setup.reply("caller", &socks).await;
    assert_eq!(socks["stdout"], PAGE, "{socks:#}");
    let direct = setup.reply("caller", &by_hand(origin)).await;
    assert!(
        direct["stdout"].as_str().unwrap().ends_with(PAGE),
        "{direct:#}"
    );
    assert_eq!(direct.get("note"), None, "nothing was refused");
}

#[tokio::test]
async fn commands_that_called_nobody_share_a_sandbox_and_its_way_out() {
    let setup = EgressSetup::start(ANY).await;
    let call = format!("echo $$; curl -sS http://{}/", setup.origin);
    let round = ["echo $$", &call, "echo $$"];
    let replies = setup.replies("caller", &round.repeat(3)).await;
    let mut shared = 0;
    for round in replies.chunks(3) {
        let printed = |index: usize| round[index]["stdout"].as_str().unwrap();
        let (number, page) = printed(1).split_once('\n').unwrap();
        assert_eq!(page, PAGE, "{round:#?}");
        shared += usize::from(number != FIRST);
        // The call leaves a connection behind, so the next command gets a new sandbox.
        assert_eq!(printed(2).trim(), FIRST, "{round:#?}");
    }
    // Not every call has to be quick enough to share the sandbox.
    assert!(shared > 0, "{replies:#?}");
}

#[tokio::test]
async fn another_host_is_refused_and_named_with_those_that_are_allowed() {
    let setup = EgressSetup::start(ANY).await;
    let (origin, port) = (&setup.origin, setup.port);
    let command = format!(
        "curl -s -o /dev/null -w '%{http_code}\\n' http://elsewhere.example/; \
         curl -s -o /dev/null -w '%{http_code}\\n' http://127.0.0.1:{port}/ -x http://127.0.0.1:3128 --noproxy ''",
        http_code = "{http_code}"
    );
    let reply = setup.reply("caller", &command).await;
    assert!(
        reply["stdout"].as_str().unwrap().starts_with("403\n"),
        "{reply:#}"
    );
    assert!(
        !reply["stdout"].as_str().unwrap().contains("200"),
        "{reply:#}"
    );
    let note = reply["note"].as_str().unwrap();
    assert!(note.contains("elsewhere.example:80"), "{note}");
    assert!(
        note.ends_with(&format!("this job may reach {origin}")),
        "{note}"
    );
}

#[tokio::test]
async fn a_private_address_is_refused_unless_the_operator_opened_it() {
    let setup = EgressSetup::start("203.0.113.0/24").await;
    let origin = &setup.origin;
    let reply = setup
        .reply("caller", &format!("curl -s http://{origin}/"))
        .await;
    assert!(
        !reply["stdout"].as_str().unwrap().contains(PAGE),
        "{reply:#}"
    );
    let note = reply["note"].as_str().unwrap();
    assert!(
        note.contains(&format!("{origin} (its address is not public")),
        "{note}"
    );
}

#[tokio::test]
async fn without_a_declaration_there_is_nobody_but_the_sandbox_itself() {
    let setup = EgressSetup::start(ANY).await;
    for skill in ["closed", "far"] {
        let direct = setup.reply(skill, &by_hand(&setup.origin)).await;
        assert_eq!(direct["success"], false, "{skill}: {direct:#}");
        let address = format!("127.0.0.1:{}", setup.port);
        let address = setup.reply(skill, &by_hand(&address)).await;
        assert_eq!(address["success"], false, "{skill}: {address:#}");
    }
    let variables = setup
        .reply("closed", "env | grep -ci proxy; cat /etc/resolv.conf")
        .await;
    assert_eq!(variables["stdout"], "0\n");
    // It may have servers of its own.
    let own = "python3 -m http.server 8000 --bind 127.0.0.1 >/dev/null 2>&1 & \
               for i in $(seq 100); do curl -s http://127.0.0.1:8000/ >/dev/null && break; sleep 0.05; done; \
               curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8000/";
    assert_eq!(setup.reply("closed", own).await["stdout"], "200");
}

#[tokio::test]
async fn a_parameter_that_names_no_host_is_refused_at_once() {
    let setup = EgressSetup::start(ANY).await;
    for (url, words) in [
        ("http://169.254.169.254/", "address"),
        ("ssh://git@github.com/a/b", "SSH"),
        ("http://localhost:8080/", "localhost"),
        ("http://a b/", "spaces"),
    ] {
        let job = json!({"skill": "caller", "prompt": "x", "model": "script/bash", "parameters": {"url": url}});
        let (status, body) = setup.service.post("/v1/jobs", &job).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{url}: {body:#}");
        let error = &body["errors"][0];
        assert_eq!(error["pointer"], "/parameters/url");
        assert!(
            error["detail"].as_str().unwrap().contains(words),
            "{body:#}"
        );
    }
}
