//! The HTTP server of the model: one path for each wire format.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use actix_web::http::StatusCode;
use actix_web::web::{Data, PayloadConfig, post};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};
use bytes::Bytes;
use serde_json::Value;

use super::provider::Provider;
use super::reply::Failure;
use super::request::Request;
use super::shared_state::{ReplyContent, SelectedReply, SharedState};
use super::{stream, wire};

/// The largest request body, which is Anthropic's limit. The server rejects larger ones with 413.
const MAX_REQUEST_BYTES: usize = 32 * 1024 * 1024;

/// The number of server threads, which is the number of cores of the smallest test machine.
const THREADS: usize = 2;

/// A server that runs until it is dropped.
pub(super) struct Server {
    address: SocketAddr,
    handle: actix_web::dev::ServerHandle,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(super) fn start(state: Data<SharedState>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || {
            actix_web::rt::System::new().block_on(async move {
                let server = serve(listener, state);
                sender.send(server.handle()).expect("the test waits for it");
                server.await.expect("nothing stops the server but us");
            });
        });
        let handle = receiver.recv().expect("the server starts");
        Self {
            address,
            handle,
            thread: Some(thread),
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The stop command is sent at once. The future would only wait for its completion.
        drop(self.handle.stop(false));
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, its message is already on stderr.
            let _ = thread.join();
        }
    }
}

fn serve(listener: TcpListener, state: Data<SharedState>) -> actix_web::dev::Server {
    let app = move || {
        App::new()
            .app_data(state.clone())
            .app_data(PayloadConfig::new(MAX_REQUEST_BYTES))
            .route("/v1/messages", post().to(create_message))
            .route("/v1/chat/completions", post().to(create_chat_completion))
            .default_service(actix_web::web::to(refuse_path))
    };
    HttpServer::new(app)
        // As long as real providers. A connection that closes between two retries would be an additional error.
        .keep_alive(Duration::from_secs(75))
        .workers(THREADS)
        .disable_signals()
        .tcp_nodelay(true)
        // Detect a client that hangs up at once instead of at the next write.
        .h1_allow_half_closed(false)
        .listen(listener)
        .expect("the listener is fresh")
        .run()
}

async fn create_message(
    http: HttpRequest,
    body: Result<Bytes, actix_web::Error>,
    state: Data<SharedState>,
) -> HttpResponse {
    answer(Provider::Anthropic, &http, body, &state).await
}

async fn create_chat_completion(
    http: HttpRequest,
    body: Result<Bytes, actix_web::Error>,
    state: Data<SharedState>,
) -> HttpResponse {
    answer(Provider::OpenAi, &http, body, &state).await
}

async fn refuse_path(http: HttpRequest, state: Data<SharedState>) -> HttpResponse {
    let fault = format!("There is no {} {}.", http.method(), http.path());
    error(Provider::OpenAi, 404, &state.refuse(fault).0)
}

async fn answer(
    provider: Provider,
    http: &HttpRequest,
    body: Result<Bytes, actix_web::Error>,
    state: &SharedState,
) -> HttpResponse {
    let body = match body {
        Ok(body) => body,
        Err(fault) => {
            let status = fault.as_response_error().status_code();
            let violation = state.refuse(format!("The body cannot be read: {fault}."));
            return error(provider, status.as_u16(), &violation.0);
        }
    };
    let mut headers = BTreeMap::<String, String>::new();
    for (name, value) in http.headers() {
        let value = String::from_utf8_lossy(value.as_bytes());
        headers
            .entry(name.as_str().to_owned())
            .and_modify(|before| *before += &format!(", {value}"))
            .or_insert_with(|| value.clone().into_owned());
    }
    let request = Request {
        provider,
        at: Instant::now(),
        headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    };
    match state.select_reply(&request) {
        Ok(selected) => follow(selected, &request).await,
        Err(violation) => error(provider, 400, &violation.0),
    }
}

async fn follow(selected: SelectedReply, request: &Request) -> HttpResponse {
    let provider = request.provider;
    let mut in_progress = selected.watcher.begin();
    if !selected.delay.is_zero() {
        tokio::time::sleep(selected.delay).await;
    }
    match selected.content {
        ReplyContent::Message(given) => {
            let events = wire::events(&given, request);
            HttpResponse::Ok()
                .content_type("text/event-stream; charset=utf-8")
                .insert_header(("request-id", format!("req_{}", given.id.simple())))
                .streaming(stream::body(
                    provider,
                    &given,
                    &events,
                    selected.number,
                    in_progress,
                ))
        }
        ReplyContent::Error(failure) => {
            in_progress.complete();
            fail(provider, failure)
        }
    }
}

fn fail(provider: Provider, failure: Failure) -> HttpResponse {
    let status = StatusCode::from_u16(failure.status).expect("scripts have valid status codes");
    let mut response = HttpResponse::build(status);
    for header in failure.headers {
        response.insert_header(header);
    }
    match failure.body {
        Some(body) => response.content_type("text/html").body(body),
        None => response.json(provider.error(failure.status, &failure.message)),
    }
}

fn error(provider: Provider, status: u16, message: &str) -> HttpResponse {
    let status = StatusCode::from_u16(status).expect("scripts have valid status codes");
    HttpResponse::build(status).json(provider.error(status.as_u16(), message))
}
