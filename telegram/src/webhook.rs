//! The webhook to which Telegram sends updates.

use std::net::SocketAddr;
use std::time::Duration;

use actix_web::web::{self, Data};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};
use rand::RngExt;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use crate::adapter::Adapter;
use crate::album::{album_members, gather};
use crate::bot_error::BotError;
use crate::dispatch::{ALLOWED_UPDATES, handle_all};
use crate::error::TelegramError;
use crate::update::BotUpdate;

const SECRET_HEADER: &str = "X-Telegram-Bot-Api-Secret-Token";
/// The maximum number of updates that Telegram sends at once.
const MAX_CONNECTIONS: usize = 40;
/// The time in which the other files of an album arrive.
const ALBUM_PAUSE: Duration = Duration::from_millis(1500);
/// The maximum size of an update.
const MAX_UPDATE_BYTES: usize = 1024 * 1024;

/// An update, with the channel that confirms its handling.
struct Delivered {
    update: BotUpdate,
    handled: oneshot::Sender<()>,
}

/// The state that the handler of a request needs.
struct Receiver {
    secret: String,
    updates: mpsc::Sender<Delivered>,
}

/// Receives updates until the adapter stops. Telegram repeats each update until it was answered with success.
pub(crate) async fn serve(
    adapter: &Adapter,
    listen: SocketAddr,
    url: &str,
    on_ready: impl FnOnce(&str),
) -> Result<(), TelegramError> {
    let secret = random_secret();
    let (updates, mut delivered) = mpsc::channel(MAX_CONNECTIONS);
    let receiver = Data::new(Receiver {
        secret: secret.clone(),
        updates,
    });
    let server = HttpServer::new(move || {
        let json = web::JsonConfig::default().limit(MAX_UPDATE_BYTES);
        let app = App::new().app_data(receiver.clone()).app_data(json);
        app.default_service(web::post().to(receive))
    });
    let failed = |cause| TelegramError::Listen {
        address: listen,
        cause,
    };
    let server = server
        .workers(1)
        .disable_signals()
        .bind(listen)
        .map_err(failed)?;
    let server = server.run();
    let handle = server.handle();
    let serving = tokio::spawn(server);
    let body = json!({
        "url": url,
        "secret_token": secret,
        "max_connections": MAX_CONNECTIONS,
        "allowed_updates": ALLOWED_UPDATES,
    });
    adapter.bot.call::<Value>("setWebhook", &body).await?;
    on_ready(&adapter.username);
    let ended = loop {
        let batch = tokio::select! {
            () = adapter.stop.cancelled() => break Ok(()),
            batch = next_batch(&mut delivered) => batch,
        };
        let updates = batch.iter().map(|it| it.update.clone()).collect();
        match handle_all(adapter, gather(updates)).await {
            Ok(()) => {
                for update in batch {
                    let _ = update.handled.send(());
                }
            }
            Err(TelegramError::Bot(BotError::Stopping)) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    drop(delivered);
    handle.stop(true).await;
    let _ = serving.await;
    ended
}

/// Returns the available updates, and the rest of their albums.
async fn next_batch(delivered: &mut mpsc::Receiver<Delivered>) -> Vec<Delivered> {
    let mut batch = Vec::new();
    delivered.recv_many(&mut batch, MAX_CONNECTIONS).await;
    let updates: Vec<_> = batch.iter().map(|it| it.update.clone()).collect();
    if album_members(&updates) > 0 {
        let until = Instant::now() + ALBUM_PAUSE;
        while let Ok(Some(more)) = timeout_at(until, delivered.recv()).await {
            batch.push(more);
        }
    }
    batch
}

async fn receive(
    request: HttpRequest,
    receiver: Data<Receiver>,
    update: web::Json<BotUpdate>,
) -> HttpResponse {
    let given = request.headers().get(SECRET_HEADER);
    if !given.is_some_and(|given| is_same(given.as_bytes(), receiver.secret.as_bytes())) {
        return HttpResponse::Forbidden().finish();
    }
    let (handled, done) = oneshot::channel();
    let delivered = Delivered {
        update: update.into_inner(),
        handled,
    };
    let _ = receiver.updates.send(delivered).await;
    match done.await {
        Ok(()) => HttpResponse::Ok().finish(),
        // The program is stopping. Telegram sends the update again.
        Err(_) => HttpResponse::ServiceUnavailable().finish(),
    }
}

/// Compares in a time that does not depend on the position of a difference.
fn is_same(given: &[u8], expected: &[u8]) -> bool {
    let pairs = given.iter().zip(expected);
    let difference = pairs.fold(0, |sum, (one, other)| sum | (one ^ other));
    given.len() == expected.len() && difference == 0
}

fn random_secret() -> String {
    let mut random = rand::rng();
    let bytes = (0..32).map(|_| random.random::<u8>());
    bytes.map(|byte| format!("{byte:02x}")).collect()
}
