//! `ffmpeg`: output files, checked with ffprobe and by their samples.

use std::process::Command;

use serde_json::json;

use super::made::{Made, can_run};
use crate::support::{Service, bash};

#[tokio::test]
async fn figures_become_a_melody_of_the_right_loudness() {
    let service = Service::start().await;
    if !can_run(&service, "ffmpeg", &[]).await {
        return;
    }
    let prompt = include_str!("../../../cli/src/demo/ffmpeg.md");
    let made = Made::of(&service, "ffmpeg", prompt, &[], json!({})).await;
    assert_eq!(made.outputs(), [("bakery.mp3", "audio/mpeg")]);
    assert_eq!(made.streams("bakery.mp3"), ["audio mp3 48000 Hz 2"]);
    let length = made.length("bakery.mp3");
    assert!((8.0..8.3).contains(&length), "{length}");
    let loudness = made
        .text()
        .lines()
        .find_map(|line| line.trim().strip_prefix("I:"));
    let loudness: f64 = loudness
        .unwrap()
        .trim()
        .trim_end_matches(" LUFS")
        .parse()
        .unwrap();
    assert!((-16.6..-15.4).contains(&loudness), "{loudness}");
}

#[tokio::test]
async fn a_film_is_cut_scaled_and_split_into_its_parts() {
    let service = Service::start().await;
    if !can_run(&service, "ffmpeg", &["identify"]).await {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let film = folder.path().join("film.mp4");
    let filmed = Command::new("ffmpeg")
        .args([
            "-v",
            "error",
            "-nostdin",
            "-f",
            "lavfi",
            "-i",
            "testsrc2=size=320x180:rate=25:duration=4",
        ])
        .args([
            "-f",
            "lavfi",
            "-i",
            "sine=frequency=440:duration=4",
            "-c:v",
            "libx264",
            "-preset",
            "ultrafast",
        ])
        .args(["-pix_fmt", "yuv420p", "-c:a", "aac", "-shortest"])
        .arg(&film)
        .status()
        .unwrap();
    assert!(filmed.success());
    let film = std::fs::read(film).unwrap();
    let prompt = [
        bash("set -e; ff='ffmpeg -y -v error -nostdin'
            $ff -ss 1 -to 3 -i film.mp4 -vf scale=-2:90 -c:v libx264 -crf 21 -preset veryfast -pix_fmt yuv420p -c:a aac -movflags +faststart cut.mp4
            $ff -i film.mp4 -vn -c:a flac sound.flac
            $ff -t 1 -i film.mp4 -vf 'fps=10,scale=160:-1:flags=lanczos,split[a][b];[a]palettegen[p];[b][p]paletteuse' film.gif"),
        "output video: cut.mp4\noutput audio: sound.flac\noutput image: film.gif".to_owned(),
    ];
    let inputs = [("film.mp4", film.as_slice())];
    let made = Made::of(&service, "ffmpeg", &prompt.join("\n"), &inputs, json!({})).await;
    assert_eq!(
        made.streams("cut.mp4"),
        ["video h264 160x90", "audio aac 44100 Hz 1"]
    );
    assert!(
        (1.95..2.1).contains(&made.length("cut.mp4")),
        "{}",
        made.length("cut.mp4")
    );
    assert_eq!(made.streams("sound.flac"), ["audio flac 44100 Hz 1"]);
    let frames = made.ask("identify", &["-format", "%Wx%H\n", "film.gif"]);
    assert_eq!(frames, "160x90\n".repeat(10));
}

#[tokio::test]
async fn it_gives_no_text_as_a_film() {
    let service = Service::start().await;
    if !can_run(&service, "ffmpeg", &[]).await {
        return;
    }
    let prompt = format!("{}\noutput: no.mp4", bash("echo no film > no.mp4"));
    let job = json!({"skill": "ffmpeg", "model": "script/bash", "prompt": prompt});
    let job = service.run(&job).await;
    let kinds: Vec<_> = job["outputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["kind"])
        .collect();
    assert_eq!(kinds, ["document"], "{job:#}");
}
