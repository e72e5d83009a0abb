//! `ytdlp`: a download from a local web server, with the generic extractor.

use reqwest::Method;
use serde_json::json;

use super::made::{Made, can_run};
use super::origin::{ANY, Origin};
use crate::support::problem::Problem;
use crate::support::{Service, bash};

const LOAD: &str = r#"timeout 20 yt-dlp --ignore-config --no-playlist --no-progress --no-mtime --no-warnings --restrict-filenames \
  --socket-timeout 15 --retries 1 -P downloads/yt-dlp -o '%(title).80B-%(id)s.%(ext)s' \
  -S 'res:1080,vcodec:h264,acodec:aac,ext:mp4:m4a' --merge-output-format mp4 --max-filesize 95M --print after_move:filepath --"#;

#[tokio::test]
async fn the_film_of_a_page_is_downloaded_whole() {
    let origin = Origin::start();
    let mut service = Service::with_environment(&[("SKILLET_EGRESS_ALLOW", ANY)]).await;
    service.add_worker(&[]).await;
    if !can_run(&service, "ytdlp", &[]).await {
        return;
    }
    let film = std::process::Command::new("ffmpeg")
        .args([
            "-v",
            "error",
            "-nostdin",
            "-f",
            "lavfi",
            "-i",
            "testsrc2=size=320x180:rate=25:duration=2",
        ])
        .args([
            "-f",
            "lavfi",
            "-i",
            "sine=duration=2",
            "-c:v",
            "libx264",
            "-preset",
            "ultrafast",
            "-pix_fmt",
            "yuv420p",
        ])
        .args(["-c:a", "aac", "-shortest"])
        .arg(origin.path("film.mp4"))
        .status();
    assert!(film.unwrap().success());
    let page = "<!doctype html><html><head><title>A short film</title></head><body><video src=\"film.mp4\"></video></body></html>";
    origin.write("page.html", page);
    let url = format!("{}/page.html", origin.url);
    let prompt = [
        bash(&format!(
            "set -e; {LOAD} '{url}' > name; cat name; cp \"$(tail -n 1 name)\" film.mp4"
        )),
        "output video: film.mp4".to_owned(),
    ];
    let made = Made::of(
        &service,
        "ytdlp",
        &prompt.join("\n"),
        &[],
        json!({"url": url}),
    )
    .await;
    let text = made.text();
    assert!(text.contains("downloads/yt-dlp/A_short_film"), "{text}");
    let loaded = std::fs::read(made.path("film.mp4")).unwrap();
    assert!(loaded == std::fs::read(origin.path("film.mp4")).unwrap());
    assert_eq!(
        made.streams("film.mp4"),
        ["video h264 320x180", "audio aac 44100 Hz 1"]
    );
    assert!((1.9..2.1).contains(&made.length("film.mp4")));
}

#[tokio::test]
async fn of_two_films_one_is_downloaded_unless_the_job_may_have_more() {
    let origin = Origin::start();
    let mut service = Service::with_environment(&[("SKILLET_EGRESS_ALLOW", ANY)]).await;
    service.add_worker(&[]).await;
    if !can_run(&service, "ytdlp", &[]).await {
        return;
    }
    for colour in ["red", "blue"] {
        let source = format!("color={colour}:size=64x64:rate=5:duration=1");
        let film = std::process::Command::new("ffmpeg")
            .args(["-v", "error", "-nostdin", "-f", "lavfi", "-i", &source])
            .args(["-pix_fmt", "yuv420p"])
            .arg(origin.path(&format!("{colour}.mp4")))
            .status();
        assert!(film.unwrap().success());
    }
    let page = "<!doctype html><html><head><title>Two films</title></head><body>\
                <video src=\"red.mp4\"></video><video src=\"blue.mp4\"></video></body></html>";
    origin.write("page.html", page);
    let url = format!("{}/page.html", origin.url);
    // This command asks for the whole playlist.
    let greedy = LOAD.replace("--no-playlist", "--yes-playlist --max-downloads 9");
    let prompt = bash(&format!(
        "set -e; {greedy} '{url}' > /dev/null; ls downloads/yt-dlp | wc -l"
    ));
    for (parameters, films) in [
        (json!({"url": url}), "1"),
        (json!({"url": url, "max_videos": 2}), "2"),
    ] {
        let made = Made::of(&service, "ytdlp", &prompt, &[], parameters).await;
        assert_eq!(made.text(), films);
    }
}

#[tokio::test]
async fn a_host_that_the_job_does_not_name_is_not_reached() {
    let origin = Origin::start();
    let mut service = Service::with_environment(&[("SKILLET_EGRESS_ALLOW", ANY)]).await;
    service.add_worker(&[]).await;
    if !can_run(&service, "ytdlp", &[]).await {
        return;
    }
    origin.write("film.mp4", "no film");
    let prompt = bash(&format!("{LOAD} '{}/film.mp4' 2>&1", origin.url));
    let job = service
        .run(&json!({"skill": "ytdlp", "model": "script/bash", "prompt": prompt}))
        .await;
    let text = job["text"].as_str().unwrap();
    assert!(
        text.contains("Tunnel connection failed: 403") || text.contains("HTTP Error 403"),
        "{text}"
    );
}

#[tokio::test]
async fn only_addresses_of_the_web_are_taken() {
    let service = Service::without_worker().await;
    for url in [
        "file:///etc/passwd",
        "ytsearch:cats",
        "ftp://example.com/a.mp4",
    ] {
        let job = json!({"skill": "ytdlp", "model": "script/bash", "prompt": "Load it.", "parameters": {"url": url}});
        let request = service.request(Method::POST, "/v1/jobs").json(&job);
        let problem = Problem::of(request).await;
        assert_eq!(problem.status, 422);
        assert_eq!(
            problem.body["errors"][0]["pointer"], "/parameters/url",
            "{url}"
        );
    }
}
