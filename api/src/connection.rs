//! Connections: how many there are, and when they end.

use std::any::Any;
use std::time::Duration;

use actix_web::body::MessageBody;
use actix_web::dev::{Extensions, ServiceRequest, ServiceResponse};
use actix_web::http::ConnectionType;
use actix_web::middleware::Next;
use actix_web::rt::net::TcpStream;
use actix_web::{Error, HttpMessage};
use shared::db::key::Presented;

/// The longest that a client may take for the head of its first request.
pub(crate) const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a client that was refused may go on sending before its connection is cut: it reads the answer only then.
pub(crate) const LINGER: Duration = Duration::from_secs(5);
/// The most connections of one thread, however many files there may be.
const MAX_PER_THREAD: u64 = 50_000;
/// The longest that a client may leave unread what was sent to it, as far as that does not fit into the buffers.
#[cfg(target_os = "linux")]
const MAX_UNREAD: Duration = Duration::from_secs(120);

/// The connections that one of the threads may have: a quarter of the files is left for all else that this process
/// does. More clients wait until others have gone.
pub(crate) fn max_per_thread(files: u64, threads: usize) -> usize {
    let share = files / 4 * 3 / threads.max(1) as u64;
    usize::try_from(share.clamp(1, MAX_PER_THREAD)).unwrap_or(usize::MAX)
}

/// Prepares a connection: one whose client takes nothing any more is closed by the kernel.
pub(crate) fn prepare(connection: &dyn Any, _: &mut Extensions) {
    #[cfg(target_os = "linux")]
    if let Some(stream) = connection.downcast_ref::<TcpStream>() {
        let milliseconds = u32::try_from(MAX_UNREAD.as_millis()).unwrap_or(u32::MAX);
        // Without it, only the kernel's own limits hold, of a quarter of an hour.
        let _ = rustix::net::sockopt::set_tcp_user_timeout(stream, milliseconds);
    }
}

/// Closes connections after their answer that have no reason to stay: those of clients without a key, which could
/// otherwise be held for nothing, and those that were to become another protocol's, which we have none of.
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
