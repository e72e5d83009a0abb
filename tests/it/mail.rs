//! `send_email` and `read_email` with a test mail server.

use std::process::Stdio;

use reqwest::Method;
use serde_json::{Value, json};
use tests::model_server::Reply;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::egress::{ANY, machine};
use crate::support::Service;
use crate::support::log::{data, types};
use crate::support::problem::Problem;

const CLAUDE: &str = "anthropic/claude-test";
const PASSWORD: &str = "correct horse";

/// A service whose tenant has an account on a test mail server.
struct MailSetup {
    service: Service,
    smtp: u16,
    imap: u16,
    _server: Child,
}

impl MailSetup {
    async fn open() -> Self {
        let mut service = Service::with_environment(&[("SKILLET_EGRESS_ALLOW", ANY)]).await;
        service.add_worker(&[]).await;
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/it/mail/server.py");
        let mut server = Command::new("/usr/bin/python3")
            .arg(program)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let ports = lines.next_line().await.unwrap();
        let ports = ports.expect("this test needs Debian's python3-twisted");
        let ports: Vec<u16> = ports.split(' ').map(|port| port.parse().unwrap()).collect();
        let setup = Self {
            service,
            smtp: ports[0],
            imap: ports[1],
            _server: server,
        };
        let host = machine();
        setup
            .set(
                "SMTP_SERVER",
                &format!("smtp+insecure://{host}:{}", setup.smtp),
            )
            .await;
        setup
            .set(
                "IMAP_SERVER",
                &format!("imap+insecure://{host}:{}", setup.imap),
            )
            .await;
        for protocol in ["SMTP", "IMAP"] {
            setup
                .set(&format!("{protocol}_USERNAME"), "ann@example.com")
                .await;
            setup.set(&format!("{protocol}_PASSWORD"), PASSWORD).await;
        }
        setup
    }

    async fn set(&self, name: &str, value: &str) {
        let put = self
            .service
            .request(Method::PUT, &format!("/v1/secrets/{name}"));
        let put = put.json(&json!({ "value": value })).send().await.unwrap();
        assert_eq!(put.status(), 204, "{name}");
    }

    /// Creates a job of the skill `email` that makes these calls, one per reply.
    async fn create(&self, marker: &str, calls: &[(&str, Value)], parameters: Value) -> String {
        let mut replies: Vec<_> = calls
            .iter()
            .map(|(tool, input)| Reply::call(tool, input.clone()))
            .collect();
        replies.push(Reply::text("Done."));
        self.service.model.script(marker, replies);
        self.service
            .create(&json!({
                "skill": "email", "model": CLAUDE, "prompt": format!("Mail. #{marker}"), "parameters": parameters,
                "inputs": [{"name": "report.csv", "data": "YSxiCjEsMgo="}], "limits": {"max_iterations": 20},
            }))
            .await
    }

    /// Runs a job without confirmations, and returns the outcome and the output of each call.
    async fn run(&self, marker: &str, calls: &[(&str, Value)]) -> Vec<(String, String)> {
        let job = self.create(marker, calls, json!({"confirm": false})).await;
        self.results(&job).await
    }

    async fn results(&self, job: &str) -> Vec<(String, String)> {
        let ended = self.service.finished(job).await;
        assert_eq!(ended["text"], "Done.", "{ended:#}\n{}", self.service.logs());
        let events = self.service.events(job).await;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let completed = data(&events, "tool.completed").into_iter();
        completed
            .map(|it| (text(&it["outcome"]), text(&it["output"])))
            .collect()
    }
}

fn mail(to: &[&str], subject: &str) -> (&'static str, Value) {
    let text = "Liebe Ann,\n\nanbei die Zahlen für März.\n";
    let mail = json!({"to": to, "subject": subject, "text": text, "attachments": ["report.csv"]});
    ("send_email", mail)
}

fn read(search: Value) -> (&'static str, Value) {
    ("read_email", search)
}

#[tokio::test]
async fn a_job_needs_a_server_to_read_from_or_to_send_with() {
    let service = Service::without_worker().await;
    let body = json!({"skill": "email", "model": "script/bash", "prompt": "Read."});
    let refused = Problem::of(service.request(Method::POST, "/v1/jobs").json(&body)).await;
    assert_eq!(refused.kind(), (422, "invalid_request"));
    let detail = "`email` needs secrets that are not set: SMTP_SERVER or IMAP_SERVER; set them with \
                  PUT /v1/secrets/SMTP_SERVER, PUT /v1/secrets/IMAP_SERVER";
    assert_eq!(refused.errors(), [("/skill", detail)]);
    // One of the two secrets is sufficient.
    let put = service.request(Method::PUT, "/v1/secrets/IMAP_SERVER");
    let put = put.json(&json!({"value": "imaps://imap.example.com"}));
    assert_eq!(put.send().await.unwrap().status(), 204);
    service.create(&body).await;
}

#[tokio::test]
async fn a_mail_waits_for_a_person_then_arrives_and_is_read_back_with_its_attachment() {
    let setup = MailSetup::open().await;
    let calls = [
        mail(&["Bob Öhm <bob@example.com>"], "Zahlen für März"),
        read(json!({"subject": "für März"})),
        read(json!({"uid": 1})),
        ("file_read", json!({"path": "mail/1/report.csv"})),
    ];
    let job = setup.create("post", &calls, json!({})).await;
    let approval = setup.service.approve(&job).await;
    assert_eq!(approval["tool"], "send_email");
    assert_eq!(approval["input"]["subject"], "Zahlen für März");

    let results = setup.results(&job).await;
    let read = |place: usize| -> Value {
        assert_eq!(results[place].0, "ok", "{results:#?}");
        serde_json::from_str(&results[place].1).unwrap()
    };
    assert_eq!(read(0)["recipients"], json!(["bob@example.com"]));
    assert_eq!(
        (&read(1)["found"], &read(1)["mails"][0]["uid"]),
        (&json!(1), &json!(1))
    );
    let whole = read(2);
    assert_eq!(whole["subject"], "Zahlen für März");
    assert_eq!(whole["to"], "Bob Öhm <bob@example.com>");
    assert_eq!(whole["text"], "Liebe Ann,\n\nanbei die Zahlen für März.\n");
    assert_eq!(
        whole["attachments"],
        json!([{"path": "mail/1/report.csv", "content_type": "text/csv", "size": 8}])
    );
    // Reading does not mark the message as read.
    assert_eq!(whole["seen"], false);
    assert_eq!(results[3].1, "a,b\n1,2\n");
    let events = setup.service.events(&job).await;
    assert!(types(&events).contains(&"approval.resolved"));
    let told = serde_json::to_string(&events).unwrap() + &setup.service.logs();
    assert!(!told.contains(PASSWORD));
    assert_eq!(setup.service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn what_the_server_or_the_mail_lacks_is_said() {
    let setup = MailSetup::open().await;
    let results = setup
        .run(
            "lacks",
            &[
                mail(&["nobody@example.com"], "Hi"),
                mail(&["bob@example.com", "nobody@example.com"], "Hi"),
                mail(&["bob"], "Hi"),
                mail(&["bob@example.com"], "Hi\r\nBcc: eve@example.com"),
                mail(&["bob@example.com\r\nRCPT TO:<eve@example.com>"], "Hi"),
                ("send_email", json!({"to": ["b@example.com"], "subject": "x", "text": "y", "attachments": ["none"]})),
                read(json!({"folder": "None"})),
                read(json!({"uid": 77})),
                read(json!({"subject": "x\" OR ALL"})),
                read(json!({"since": "yesterday"})),
                ("shell.exec", json!({"command": "env"})),
            ],
        )
        .await;
    let told = [
        ("error", "the server refused {'nobody@example.com': '550"),
        ("ok", r#""refused": {"nobody@example.com": "550"#),
        ("error", "`bob` in `to` is not an address"),
        ("error", "the mail is not valid"),
        ("error", "is not an address"),
        ("error", "`none` cannot be attached: No such file"),
        ("error", "the server responded: "),
        ("error", "there is no mail with the uid 77"),
        ("ok", r#""found": 0"#),
        ("error", "`since` must be a day like 2026-01-31"),
        (
            "error",
            "there is no tool `shell_exec`; there are: send_email, read_email, file.read",
        ),
    ];
    assert_eq!(results.len(), told.len(), "{results:#?}");
    for ((outcome, output), (expected, words)) in results.iter().zip(told) {
        assert!(
            outcome == expected && output.contains(words),
            "{words}: {outcome} {output}"
        );
    }
}

#[tokio::test]
async fn no_password_goes_over_a_connection_that_others_can_read_unless_the_secret_says_so() {
    let setup = MailSetup::open().await;
    let host = machine();
    setup
        .set("SMTP_SERVER", &format!("smtp://{host}:{}", setup.smtp))
        .await;
    setup
        .set("IMAP_SERVER", &format!("imap://{host}:{}", setup.imap))
        .await;
    let results = setup
        .run(
            "clear",
            &[mail(&["bob@example.com"], "Hi"), read(json!({}))],
        )
        .await;
    assert!(
        results[0].1.contains("STARTTLS extension not supported"),
        "{results:#?}"
    );
    assert!(
        results[1].0 == "error" && results[1].1.to_uppercase().contains("TLS"),
        "{results:#?}"
    );

    setup.set("SMTP_PASSWORD", "wrong horse").await;
    setup
        .set(
            "SMTP_SERVER",
            &format!("smtp+insecure://{host}:{}", setup.smtp),
        )
        .await;
    setup
        .set("IMAP_SERVER", &format!("http://{host}:{}", setup.imap))
        .await;
    let results = setup
        .run(
            "wrong",
            &[mail(&["bob@example.com"], "Hi"), read(json!({}))],
        )
        .await;
    assert!(
        results[0].1.contains("the server responded: 535"),
        "{results:#?}"
    );
    assert!(
        results[1]
            .1
            .contains("must be host[:port] with one of imaps://"),
        "{results:#?}"
    );
}
