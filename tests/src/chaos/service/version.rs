//! The next release of the service, simulated by a tool that the current release does not have.
//!
//! The simulated release is the current one, with the name of the tool translated in what it reads from the database.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, ensure};
use shared::db::Pool;
use sqlx::postgres::PgConnectOptions;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

/// The version in the metadata of jobs that only workers of the next version can run.
pub(crate) const NEXT_VERSION: &str = "next";

/// A tool that both versions have, and its name in the next one. Both names have the same length, so that the lengths
/// in database messages stay correct.
const TOOL: &str = "file.edit";
const NEXT_TOOL: &str = "file.next";

/// The version of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// The current version.
    This,
    /// The next version.
    Next,
}

/// Creates a trigger that stores jobs of the next version with the tool name that the current version does not know.
pub(super) async fn write_for_next(pool: &Pool) -> sqlx::Result<()> {
    let name = format!(
        "create function write_for_next() returns trigger language plpgsql as $$
         begin
             new.request := replace(new.request::text, '\"{TOOL}\"', '\"{NEXT_TOOL}\"')::json;
             return new;
         end $$;
         create trigger write_for_next before insert on job
         for each row when (new.metadata->>'version' = '{NEXT_VERSION}') execute function write_for_next()"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(name))
        .execute(pool)
        .await?;
    Ok(())
}

/// A socket that shows the database as the next version reads it. Dropping it closes all connections.
pub(super) struct Translation {
    url: String,
    _connections: JoinSet<()>,
}

impl Translation {
    /// Creates the directory and listens in it.
    pub(super) fn start(database_url: &str, directory: &Path) -> anyhow::Result<Self> {
        let options = PgConnectOptions::from_str(database_url)?;
        let file = format!(".s.PGSQL.{}", options.get_port());
        let socket = options.get_socket().context("the server has a socket")?;
        std::fs::create_dir(directory)?;
        let listener = UnixListener::bind(directory.join(&file))?;
        let mut connections = JoinSet::new();
        connections.spawn(serve(listener, socket.join(file)));
        let host = |path: &Path| format!("host={}&", path.display());
        let url = database_url.replace(&host(socket), &host(directory));
        ensure!(url != database_url, "{database_url} has another socket");
        Ok(Self {
            url,
            _connections: connections,
        })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

async fn serve(listener: UnixListener, server: PathBuf) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let server = server.clone();
        connections.spawn(async move {
            // While the server is down, a connection is closed at once.
            if let Ok(server) = UnixStream::connect(server).await {
                connect(client, server).await;
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

/// Forwards data in both directions until one side closes the connection.
async fn connect(mut client: UnixStream, mut server: UnixStream) {
    let (mut from_client, to_client) = client.split();
    let (from_server, mut to_server) = server.split();
    tokio::select! {
        _ = copy(&mut from_client, &mut to_server) => {}
        _ = translate(from_server, to_client) => {}
    }
}

/// Copies all bytes, and replaces the name of the tool in the next version with its current name.
async fn translate(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
) -> std::io::Result<()> {
    let (name, known) = (NEXT_TOOL.as_bytes(), TOOL.as_bytes());
    let mut held = Vec::new();
    while from.read_buf(&mut held).await? > 0 {
        while let Some(place) = held.windows(name.len()).position(|it| it == name) {
            held[place..place + name.len()].copy_from_slice(known);
        }
        // The end of the buffer may be the beginning of a name.
        let begun = (1..name.len())
            .rev()
            .find(|it| held.ends_with(&name[..*it]));
        let done = held.len() - begun.unwrap_or(0);
        to.write_all(&held[..done]).await?;
        held.drain(..done);
    }
    to.write_all(&held).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_is_translated_however_it_is_cut() {
        let text = format!("a {NEXT_TOOL} b {NEXT_TOOL}{NEXT_TOOL} file.n file.nex");
        let wanted = format!("a {TOOL} b {TOOL}{TOOL} file.n file.nex");
        for cut in 0..=text.len() {
            let (one, other) = text.as_bytes().split_at(cut);
            let mut out = Vec::new();
            translate(one.chain(other), &mut out).await.unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), wanted);
        }
    }
}
