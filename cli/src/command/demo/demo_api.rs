//! A local HTTP API for the demo of `httpapi`.

use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Mutex;

use actix_web::web::{self, Data, Json, Path};
use actix_web::{App, HttpResponse, HttpServer};
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

/// The API of a bakery, with monthly sales and orders.
pub(super) struct DemoApi {
    pub(super) url: String,
    pub(super) address: IpAddr,
    _server: AbortOnDropHandle<std::io::Result<()>>,
}

type Orders = Mutex<Vec<Value>>;

impl DemoApi {
    /// Starts the API on a free port under the host name of this machine, because jobs may name neither localhost nor
    /// an IP address. `books` is a CSV file with one line per month.
    pub(super) fn open(books: &'static str) -> std::io::Result<Self> {
        let name = rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .to_ascii_lowercase();
        let mut addresses = (name.as_str(), 0).to_socket_addrs()?;
        let address = addresses.next().ok_or(std::io::ErrorKind::NotFound)?.ip();
        let orders = Data::new(Orders::default());
        let server = HttpServer::new(move || {
            App::new()
                .app_data(orders.clone())
                .app_data(Data::new(books))
                .route("/months/{month}", web::get().to(get_month))
                .route("/orders", web::post().to(create_order))
                .route("/orders/{number}", web::get().to(get_order))
        });
        let server = server.workers(1).disable_signals().bind((address, 0))?;
        Ok(Self {
            url: format!("http://{name}:{}", server.addrs()[0].port()),
            address,
            _server: AbortOnDropHandle::new(tokio::spawn(server.run())),
        })
    }
}

async fn get_month(month: Path<String>, books: Data<&'static str>) -> HttpResponse {
    let mut lines = books.lines().map(|line| line.split(','));
    let names = lines.next().into_iter().flatten();
    match lines.find(|line| line.clone().next() == Some(month.as_str())) {
        Some(values) => {
            let values = values.map(|value| value.parse().map_or(json!(value), Value::Number));
            HttpResponse::Ok().json(Value::Object(
                names.map(str::to_owned).zip(values).collect(),
            ))
        }
        None => HttpResponse::NotFound().json(json!({"error": "there are no books of that month"})),
    }
}

async fn create_order(order: Json<Value>, orders: Data<Orders>) -> HttpResponse {
    let mut orders = orders.lock().expect("no other request panics with it");
    let number = orders.len() + 1;
    let order = json!({"number": number, "state": "accepted", "order": *order});
    orders.push(order.clone());
    HttpResponse::Created()
        .insert_header(("location", format!("/orders/{number}")))
        .json(order)
}

async fn get_order(number: Path<usize>, orders: Data<Orders>) -> HttpResponse {
    let orders = orders.lock().expect("no other request panics with it");
    match number.checked_sub(1).and_then(|index| orders.get(index)) {
        Some(order) => HttpResponse::Ok().json(order),
        None => HttpResponse::NotFound().json(json!({"error": "there is no such order"})),
    }
}
