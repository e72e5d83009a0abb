//! Connection limits and timeouts.

use std::any::Any;
use std::future::pending;
use std::io;
use std::time::Duration;

use actix_web::body::MessageBody;
use actix_web::dev::{Extensions, Server, ServiceRequest, ServiceResponse};
use actix_web::http::ConnectionType;
use actix_web::middleware::Next;
use actix_web::rt::net::TcpStream;
use actix_web::{Error, HttpMessage};
use shared::db::key::Presented;
use tokio_util::sync::CancellationToken;

/// The longest that a client may take to send the head of its first request.
pub(crate) const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest that a rejected client may keep sending before its connection is closed. Such a client reads the
/// response only after it has sent its request.
pub(crate) const LINGER: Duration = Duration::from_secs(5);
/// The maximum number of connections per thread, regardless of the file descriptor limit.
const MAX_PER_THREAD: u64 = 50_000;
/// The longest that sent data may stay unread by the client once the buffers are full.
#[cfg(target_os = "linux")]
const MAX_UNREAD: Duration = Duration::from_secs(120);

/// Returns the maximum number of connections per thread. A quarter of the file descriptors is reserved for the rest of
/// the process. Further clients wait until connections close.
pub(crate) fn max_per_thread(files: u64, threads: usize) -> usize {
    let share = files / 4 * 3 / threads.max(1) as u64;
    usize::try_from(share.clamp(1, MAX_PER_THREAD)).unwrap_or(usize::MAX)
}

/// Prepares a connection: the kernel closes it if the client stops reading.
pub(crate) fn prepare(connection: &dyn Any, _: &mut Extensions) {
    #[cfg(target_os = "linux")]
    if let Some(stream) = connection.downcast_ref::<TcpStream>() {
        let milliseconds = u32::try_from(MAX_UNREAD.as_millis()).unwrap_or(u32::MAX);
        // Without this option, only the kernel's own limit of about 15 minutes applies.
        let _ = rustix::net::sockopt::set_tcp_user_timeout(stream, milliseconds);
    }
}

/// Serves until `shutdown` is cancelled, then lets open requests finish within the shutdown timeout.
pub(crate) async fn serve(server: Server, shutdown: CancellationToken) -> io::Result<()> {
    let handle = server.handle();
    let stopping = async {
        shutdown.cancelled().await;
        handle.stop(true).await;
        pending::<()>().await;
    };
    tokio::select! {
        ended = server => ended,
        () = stopping => Ok(()),
    }
}

/// Closes a connection after its response in two cases. Clients without a valid key could otherwise hold connections
/// open. Requests to upgrade to another protocol are not supported.
pub(crate) async fn close_idle(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let is_upgrade = request.head().upgrade();
    let mut response = next.call(request).await?;
    let has_key = response.request().extensions().contains::<Presented>();
    if is_upgrade || !has_key {
        let head = response.response_mut().head_mut();
        head.set_connection_type(ConnectionType::Close);
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_for_the_rest_of_the_process() {
        assert_eq!(max_per_thread(1_024, 2), 384);
        assert_eq!(max_per_thread(20_000, 2), 7_500);
        assert_eq!(max_per_thread(u64::MAX, 4), 50_000);
        assert_eq!(max_per_thread(4, 64), 1);
    }
}
