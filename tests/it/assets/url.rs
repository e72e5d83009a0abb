//! Inputs that are fetched from URLs.

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpResponse, HttpServer, web};
use serde_json::{Value, json};

use crate::support::{Service, bash};

#[tokio::test]
async fn what_is_at_a_url_reaches_the_workspace_under_its_last_segment() {
    let service = Service::start().await;
    let site = Site::start();
    let inputs = json!([
        {"url": site.url("/data/gr%C3%B6%C3%9Fe.csv?v=1")},
        {"url": site.url("/data/x.csv"), "name": "dir/named.csv"},
        {"url": site.url("/")},
        {"url": site.url("/moved")},
    ]);
    let job = run(&service, inputs).await;
    let expected = "file=served\ngröße.csv=served\nnamed.csv=served\nnew.txt=served";
    assert_eq!(job["text"], expected, "{job:#}");
}

#[tokio::test]
async fn a_private_address_is_not_asked() {
    let service = Service::start().await;
    let site = Site::start();
    let metadata = "http://169.254.169.254/latest/meta-data/";
    for url in [
        "http://10.0.0.1/".to_owned(),
        metadata.to_owned(),
        "http://[::1]:1/".to_owned(),
        "http://[::ffff:169.254.169.254]/".to_owned(),
        // Other spellings of 10.0.0.1 and 169.254.169.254.
        "http://0xA000001/".to_owned(),
        "http://2852039166/".to_owned(),
        site.url("/to-private"),
        site.url("/to-metadata"),
    ] {
        let job = run(&service, json!([{"url": url}])).await;
        assert_unavailable(&job, &url, "its address is not public");
    }
}

#[tokio::test]
async fn what_cannot_be_fetched_fails_the_job_and_says_why() {
    let service = Service::start().await;
    let site = Site::start();
    for (path, words) in [
        ("/missing", "it answered with status 404"),
        ("/broken", "it answered with status 500"),
        ("/to-file", "it answered with status 307"),
        ("/round", "it redirects more than 5 times"),
        ("/to-ftp", "the scheme `ftp` is neither http nor https"),
    ] {
        let url = site.url(path);
        let job = run(&service, json!([{"url": url}])).await;
        assert_unavailable(&job, &url, words);
    }
    // No program listens on this port on current machines.
    let closed = "http://127.0.0.1:1/";
    let job = run(&service, json!([{"url": closed}])).await;
    assert_unavailable(&job, closed, "it did not answer");
}

#[tokio::test]
async fn what_was_fetched_once_is_there_for_a_later_attempt_although_the_site_is_gone() {
    let service = Service::start().await;
    let site = Site::start();
    let body = json!({
        "skill": "shell", "model": "script/bash", "prompt": bash("cat one.csv b.csv; rm -f one.csv"),
        "inputs": [{"url": site.url("/data/a.csv"), "name": "one.csv"}, {"url": site.url("/data/b.csv")}],
        "hooks": {"confirm": ["shell.exec"]},
    });
    let job = service.create(&body).await;
    service.until_status(&job, &["waiting"]).await;
    drop(site);
    service.approve(&job).await;
    let ended = service.finished(&job).await;
    assert_eq!(ended["text"], "servedserved", "{ended:#}");
    // The fetched inputs are deleted at the end.
    let kept = service.home.path().join("assets/workspaces").join(&job);
    crate::support::until(async || !kept.exists() || kept.read_dir().unwrap().next().is_none())
        .await;
}

fn assert_unavailable(job: &Value, url: &str, why: &str) {
    let message = format!("the input {url} could not be fetched: {why}");
    let error = json!({"code": "input_unavailable", "message": message, "retryable": true});
    assert_eq!((&job["status"], &job["error"]), (&json!("failed"), &error));
}

async fn run(service: &Service, inputs: Value) -> Value {
    let command = bash("for f in *; do echo \"$f=$(cat \"$f\")\"; done");
    let body =
        json!({"skill": "shell", "model": "script/bash", "prompt": command, "inputs": inputs});
    service.run(&body).await
}

/// A site on 127.0.0.1, which the configuration of these tests allows.
struct Site {
    address: std::net::SocketAddr,
    server: ServerHandle,
}

impl Site {
    fn start() -> Self {
        let app = || {
            let moved = |from: &str, to: &'static str| web::redirect(from.to_owned(), to);
            App::new()
                .service(moved("/moved", "/data/new.txt"))
                .service(moved("/to-private", "http://10.0.0.1/"))
                .service(moved(
                    "/to-metadata",
                    "http://169.254.169.254/latest/meta-data/",
                ))
                .service(moved("/to-file", "file:///etc/passwd"))
                .service(moved("/to-ftp", "ftp://127.0.0.1/x"))
                .service(moved("/round", "/round"))
                .route("/broken", web::to(HttpResponse::InternalServerError))
                .route("/", web::to(|| async { "served" }))
                .route("/data/{name}", web::to(|| async { "served" }))
        };
        let server = HttpServer::new(app).workers(1).disable_signals();
        let server = server.bind(("127.0.0.1", 0)).unwrap();
        let address = server.addrs()[0];
        let server = server.run();
        let handle = server.handle();
        tokio::spawn(server);
        Self {
            address,
            server: handle,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // The call itself sends the stop command. The future would only wait for its completion.
        drop(self.server.stop(false));
    }
}
