//! The start of a process while its primary is lost.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use reqwest::{StatusCode, Url};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::task::block_in_place;

use crate::support::{Service, until};

/// The numbers of connections that the first server answers. At its start, an API opens connections to check the
/// database, to fill its pool, and for its tasks.
const ANSWERED: std::ops::Range<usize> = 1..8;

#[tokio::test(flavor = "multi_thread")]
async fn a_process_goes_to_the_new_primary_when_the_old_one_is_lost_during_its_start() {
    let service = Service::without_worker().await;
    join_all(ANSWERED.map(|answered| start(&service, answered))).await;
}

/// Starts an API that loses its primary after this number of connections.
async fn start(service: &Service, answered: usize) {
    let hosts = Hosts::new(&service.database_url, answered);
    let url = hosts.serve().await;
    let (mut api, url) = block_in_place(|| service.start_second_api(&[("DATABASE_URL", &url)]));
    until(async || {
        let ended = api.ended();
        assert!(ended.is_none(), "{answered}: {ended:?}\n{}", service.logs());
        let ready = reqwest::get(format!("{url}/readyz")).await;
        // The last connections belong to tasks, which may connect after the API is ready.
        hosts.is_first_lost() && ready.is_ok_and(|answer| answer.status() == StatusCode::OK)
    })
    .await;
}

/// Two addresses of one database. The first answers a limited number of connections and is silent on all others. The
/// second refuses connections until the first is silent.
#[derive(Clone)]
struct Hosts {
    socket: PathBuf,
    user: String,
    name: String,
    answered: usize,
    to_first: Arc<AtomicUsize>,
}

impl Hosts {
    fn new(database_url: &str, answered: usize) -> Self {
        let url = Url::parse(database_url).unwrap();
        let mut parameters = url.query_pairs();
        let (_, directory) = parameters.find(|(name, _)| name == "host").unwrap();
        Self {
            socket: PathBuf::from(&*directory).join(".s.PGSQL.5432"),
            user: url.username().to_owned(),
            name: url.path().trim_start_matches('/').to_owned(),
            answered,
            to_first: Arc::default(),
        }
    }

    /// Returns the URL with both addresses. They are served for the duration of the test.
    async fn serve(&self) -> String {
        let [one, two] = [listen().await, listen().await];
        let ports = [&one, &two].map(|it| it.local_addr().unwrap().port());
        let hosts = self.clone();
        tokio::spawn(async move {
            let mut silent = Vec::new();
            loop {
                let (client, _) = one.accept().await.unwrap();
                if hosts.to_first.fetch_add(1, Ordering::Relaxed) < hosts.answered {
                    hosts.connect(client);
                } else {
                    silent.push(client);
                }
            }
        });
        let hosts = self.clone();
        tokio::spawn(async move {
            loop {
                let (client, _) = two.accept().await.unwrap();
                if hosts.is_first_lost() {
                    hosts.connect(client);
                }
            }
        });
        let (user, name, [one, two]) = (&self.user, &self.name, ports);
        format!("postgres://{user}@127.0.0.1:{one},127.0.0.1:{two}/{name}")
    }

    fn is_first_lost(&self) -> bool {
        self.to_first.load(Ordering::Relaxed) > self.answered
    }

    fn connect(&self, mut client: TcpStream) {
        let socket = self.socket.clone();
        tokio::spawn(async move {
            let mut server = UnixStream::connect(socket).await.unwrap();
            // The connection ends with the process.
            let _ = copy_bidirectional(&mut client, &mut server).await;
        });
    }
}

async fn listen() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}
