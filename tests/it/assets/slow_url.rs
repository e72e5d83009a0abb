//! Inputs from servers that send very slowly.

use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::web::Bytes;
use actix_web::{App, HttpResponse, HttpServer, web};
use futures_util::stream;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::log::data;
use crate::support::{Service, bash};

#[tokio::test]
async fn an_input_that_drips_in_ends_with_the_time_of_its_job() {
    let service = Service::start().await;
    let server = EndlessServer::start();
    let job = service.run(&fetching(&server, 2)).await;
    assert_eq!(job["status"], "failed", "{job:#}");
    assert_eq!(job["error"]["code"], "timeout");
}

#[tokio::test]
async fn a_worker_that_leaves_does_not_wait_for_an_input() {
    let mut service = Service::start().await;
    let server = EndlessServer::start();
    let job = service.create(&fetching(&server, 3600)).await;
    service.until_event(&job, "job.started").await;
    service.workers[0].signal(Signal::TERM);
    // Shorter than the time that a draining worker gives to its running jobs.
    let ended = service.workers[0].end_within(Duration::from_secs(20)).await;
    assert!(
        ended.is_some_and(|status| status.success()),
        "{}",
        service.logs()
    );
    let events = service.events(&job).await;
    let [retried] = data(&events, "job.retrying")[..] else {
        panic!("{events:#?}")
    };
    assert_eq!(retried["cause"], "drain");
}

fn fetching(server: &EndlessServer, seconds: u32) -> Value {
    json!({
        "skill": "shell", "model": "script/bash", "prompt": bash("ls"),
        "inputs": [{"url": server.url}], "limits": {"timeout_seconds": seconds},
    })
}

/// A server whose files never end.
struct EndlessServer {
    url: String,
    handle: ServerHandle,
}

impl EndlessServer {
    fn start() -> Self {
        let server = HttpServer::new(|| {
            App::new().route(
                "/a.txt",
                web::get().to(async || {
                    let bytes = stream::unfold((), async |()| {
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        Some((Ok::<_, actix_web::Error>(Bytes::from_static(b"x")), ()))
                    });
                    HttpResponse::Ok().streaming(Box::pin(bytes))
                }),
            )
        });
        let server = server.workers(1).shutdown_timeout(0).disable_signals();
        let server = server.bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}/a.txt", server.addrs()[0]);
        let running = server.run();
        let handle = running.handle();
        tokio::spawn(running);
        Self { url, handle }
    }
}

impl Drop for EndlessServer {
    fn drop(&mut self) {
        drop(self.handle.stop(false));
    }
}
