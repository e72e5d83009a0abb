//! A site for members: a login, a form, a page that loads more, a download, and pages that link to each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};

use crate::egress::machine;

const LOGIN: &str = r#"<!doctype html><html lang="en"><title>Sign in</title><h1>Sign in</h1>
<form method="post" action="/login"><label>Name <input name="name"></label>
<label>Password <input name="password" type="password"></label><button>Sign in</button></form>"#;

const HOME: &str = r#"<!doctype html><html lang="en"><title>Members</title><h1>Welcome, Zoë</h1>
<button onclick="setTimeout(() => { document.querySelector('#more').textContent = 'Eleven members' }, 800)">Load more</button>
<p id="more"></p>
<button onclick="document.title = confirm('Leave the club?') ? 'Left' : 'Stayed'">Leave</button>
<form><label>Colour <select name="colour"><option value="r">Red</option><option value="g">Green</option></select></label>
<label>Day <input type="date" name="day"></label><label><input type="checkbox" name="agree"> I agree</label>
<label>Note <textarea name="note">old</textarea></label><label>Photo <input type="file" name="photo"></label></form>
<a href="/news" target="_blank">News</a> <a href="/report.csv">Report</a> <button disabled>Never</button>
<div style="position: relative"><button id="under">Under</button>
<div style="position: absolute; inset: 0; background: white">A banner</div></div>
<script>setInterval(() => fetch('/beat'), 100)</script>"#;

/// A running site, reached by the machine's name.
pub(super) struct MembersSite {
    pub(super) url: String,
    pub(super) port: u16,
    beats: Arc<AtomicUsize>,
}

impl MembersSite {
    pub(super) fn start() -> Self {
        let beats = Arc::new(AtomicUsize::new(0));
        let counted = web::Data::from(beats.clone());
        let server = HttpServer::new(move || {
            App::new()
                .app_data(counted.clone())
                .route("/", web::get().to(home))
                .route("/login", web::get().to(|| async { page(LOGIN) }))
                .route("/login", web::post().to(login))
                .route("/beat", web::get().to(beat))
                .route(
                    "/news",
                    web::get().to(|| async { page("<title>News</title><p>All is well.</p>") }),
                )
                .route("/report.csv", web::get().to(report))
                .route("/p/{number}", web::get().to(numbered))
        })
        .workers(1)
        .bind(("0.0.0.0", 0))
        .unwrap();
        let port = server.addrs()[0].port();
        tokio::spawn(server.run());
        Self {
            url: format!("http://{}:{port}", machine()),
            port,
            beats,
        }
    }

    /// Returns the number of requests that open pages of members have sent in the background.
    pub(super) fn beats(&self) -> usize {
        self.beats.load(Ordering::Relaxed)
    }
}

fn page(body: impl Into<String>) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/html; charset=utf-8")
        .body(body.into())
}

fn redirect(to: &str) -> actix_web::HttpResponseBuilder {
    let mut answer = HttpResponse::SeeOther();
    answer.append_header(("location", to));
    answer
}

async fn home(request: HttpRequest) -> HttpResponse {
    let cookie = request.headers().get("cookie");
    match cookie.is_some_and(|cookie| cookie == "member=zoe") {
        true => page(HOME),
        false => redirect("/login").finish(),
    }
}

async fn login(form: String) -> HttpResponse {
    match form.as_str() {
        "name=Zo%C3%AB&password=s3cret-word" => redirect("/")
            .append_header(("set-cookie", "member=zoe; HttpOnly"))
            .finish(),
        _ => page(format!("<p role=alert>Wrong name or password</p>{LOGIN}")),
    }
}

async fn beat(beats: web::Data<AtomicUsize>) -> HttpResponse {
    beats.fetch_add(1, Ordering::Relaxed);
    HttpResponse::NoContent().finish()
}

async fn report() -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/csv")
        .append_header(("content-disposition", "attachment; filename=\"report.csv\""))
        .body("day,members\n2026-01-01,11\n")
}

/// Returns a page with links to two other pages, to a file, and to another site.
async fn numbered(number: web::Path<u32>) -> HttpResponse {
    let (number, left, right) = (*number, *number * 2, *number * 2 + 1);
    if number > 100 {
        return HttpResponse::NotFound()
            .content_type("text/html")
            .body("<title>Gone</title>");
    }
    page(format!(
        "<!doctype html><title>Page {number}</title><p>Text of {number}</p><a href='/p/{left}'>Left</a>
         <a href='/p/{right}#end'>Right</a><a href='/p/1'>Start</a><a href='/news'>News</a>
         <a href='/report-{number}.pdf'>PDF</a><a href='http://elsewhere.example/p/1'>Away</a>"
    ))
}
