//! `media`: a video with sound, checked with ffprobe and by its frames.

use super::made::{Made, can_run};
use crate::support::Service;

#[tokio::test]
async fn a_film_grows_month_by_month_with_its_sound() {
    let service = Service::start().await;
    if !can_run(&service, "media", &["identify"]).await {
        return;
    }
    let prompt = include_str!("../../../cli/src/demo/media.md");
    let made = Made::of_bakery(&service, "media", prompt).await;
    assert_eq!(
        made.outputs(),
        [("bakery.mp4", "video/mp4"), ("still-9.png", "image/png")]
    );
    assert_eq!(
        made.streams("bakery.mp4"),
        ["video h264 1280x720", "audio aac 48000 Hz 2"]
    );
    assert!((9.9..10.1).contains(&made.length("bakery.mp4")));

    // The columns of 2025 are visible at the end, but not after three seconds.
    for (at, is_there) in [("3", false), ("9", true)] {
        made.ask(
            "ffmpeg",
            &[
                "-y",
                "-v",
                "error",
                "-ss",
                at,
                "-i",
                "bakery.mp4",
                "-frames:v",
                "1",
                "look.png",
            ],
        );
        let pixel = made.ask(
            "identify",
            &[
                "-format",
                "%[fx:u.p{1180,600}.r] %[fx:u.p{1180,600}.b]",
                "look.png",
            ],
        );
        let (red, blue) = pixel.split_once(' ').unwrap();
        let brown = red.parse::<f64>().unwrap() - blue.parse::<f64>().unwrap() > 0.3;
        assert_eq!(brown, is_there, "{at}: {pixel}");
    }
    let sound = made.listen("bakery.mp4");
    assert!(
        sound.contains("mean_volume: -1") || sound.contains("mean_volume: -2"),
        "{sound}"
    );
}
