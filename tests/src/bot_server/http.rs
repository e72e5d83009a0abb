//! The HTTP server for the methods and files of the bot.

use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use actix_web::error::ErrorInternalServerError;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::{Data, PayloadConfig};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};
use bytes::Bytes;
use futures_util::stream;

use super::call::{BotCall, Refused, bad_request, refused, response};
use super::state::{CallFault, SharedBotState};
use super::{TOKEN, form, polling, webhook};

const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// A server that runs until it is dropped.
pub(super) struct BotHttpServer {
    address: SocketAddr,
    handle: actix_web::dev::ServerHandle,
    thread: Option<JoinHandle<()>>,
}

impl BotHttpServer {
    pub(super) fn start(state: Data<SharedBotState>) -> Self {
        // TLS for the webhook. Another test of this process may have installed the provider first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || {
            actix_web::rt::System::new().block_on(async move {
                let app = {
                    let state = state.clone();
                    move || {
                        App::new()
                            .app_data(state.clone())
                            .app_data(PayloadConfig::new(MAX_BODY_BYTES))
                            .default_service(actix_web::web::to(handle))
                    }
                };
                let server = HttpServer::new(app).workers(1).disable_signals();
                let server = server
                    .listen(listener)
                    .expect("the listener is fresh")
                    .run();
                sender.send(server.handle()).expect("the test waits for it");
                let delivering = actix_web::rt::spawn(webhook::deliver(state));
                server.await.expect("nothing stops the server but us");
                delivering.abort();
            });
        });
        Self {
            address,
            handle: receiver.recv().expect("the server starts"),
            thread: Some(thread),
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for BotHttpServer {
    fn drop(&mut self) {
        drop(self.handle.stop(false));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn handle(http: HttpRequest, body: Bytes, state: Data<SharedBotState>) -> HttpResponse {
    let path = http.path();
    if let Some(file) = path.strip_prefix(&format!("/file/bot{TOKEN}/files/")) {
        let found = state.lock().files.get(file).cloned();
        return match found {
            Some((_, content)) => HttpResponse::Ok().body(content),
            None => HttpResponse::NotFound().finish(),
        };
    }
    let Some(method) = path.strip_prefix(&format!("/bot{TOKEN}/")) else {
        return response(Err(refused(401, "Unauthorized")));
    };
    let content_type = http.headers().get(CONTENT_TYPE);
    let content_type = content_type
        .and_then(|it| it.to_str().ok())
        .unwrap_or_default();
    match form::read_call(method, content_type, &body) {
        Some(call) => answer(&state, call).await,
        None => response(Err(bad_request("can't parse the request"))),
    }
}

async fn answer(state: &Data<SharedBotState>, call: BotCall) -> HttpResponse {
    if call.method == "getUpdates" {
        return response(polling::get_updates(state, &call).await);
    }
    let (result, is_held, is_lost) = perform(state, &call);
    state.changed();
    if is_held {
        std::future::pending::<()>().await;
    }
    if is_lost {
        let cut = stream::iter([Err::<Bytes, _>(ErrorInternalServerError("cut"))]);
        return HttpResponse::Ok().streaming(cut);
    }
    response(result)
}

/// Performs a call. Returns its result, whether the call is held forever, and whether its response is lost.
fn perform(state: &SharedBotState, call: &BotCall) -> (super::call::CallResult, bool, bool) {
    let mut inner = state.lock();
    let held = call.changes_chat().then(|| inner.holds()).flatten();
    if held == Some(false) {
        return (Ok(true.into()), true, false);
    }
    inner.calls.push(call.clone());
    let fault = inner.fault(&call.method);
    match fault {
        Some(CallFault::TooMany(seconds)) => return (Err(too_many(seconds)), false, false),
        Some(CallFault::Refuse(code, text)) => return (Err(refused(code, text)), false, false),
        Some(CallFault::LoseAnswer) | None => {}
    }
    if call.changes_chat()
        && let Some(chat) = call.number("chat_id")
        && let Err(breach) = inner.pace.note(chat)
    {
        inner.violations.push(breach);
        return (Err(too_many(1)), false, false);
    }
    let result = inner.perform(call);
    let is_lost = matches!(fault, Some(CallFault::LoseAnswer));
    (result, held == Some(true), is_lost)
}

fn too_many(seconds: u64) -> Refused {
    Refused {
        code: 429,
        description: format!("Too Many Requests: retry after {seconds}"),
        retry_after: Some(seconds),
    }
}
