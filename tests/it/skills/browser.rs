//! `browser`: screenshots, checked pixel by pixel.

use serde_json::json;

use super::made::{Made, can_run};
use crate::support::{Service, bash};

/// A page with four colours in known positions, one of which is set by a script.
const PAGE: &str = r##"cat > page.html <<'END'
<!doctype html><html><body style="margin: 0; background: #ffffff">
<style>div { position: absolute; width: 100px; height: 100px }</style>
<div style="left: 0; top: 0; background: #ff0000"></div>
<div style="left: 300px; top: 0; background: #00ff00"></div>
<div id="late" style="left: 0; top: 200px"></div>
<script>document.getElementById("late").style.background = "#0000ff"</script>
</body></html>
END"##;

#[tokio::test]
async fn a_screenshot_shows_each_colour_where_the_page_has_it() {
    let service = Service::start().await;
    if !can_run(&service, "browser", &["ffmpeg"]).await {
        return;
    }
    let shot = r#"{"url": "page.html", "path": "shot.png", "width": 400, "height": 300}"#;
    let prompt = format!(
        "{}\n```call take_screenshot\n{shot}\n```\noutput image: shot.png",
        bash(PAGE)
    );
    let made = Made::of(&service, "browser", &prompt, &[], json!({})).await;
    assert_eq!(made.outputs(), [("shot.png", "image/png")]);
    let raw = [
        "-v", "error", "-nostdin", "-i", "shot.png", "-f", "rawvideo", "-pix_fmt", "rgb24",
        "shot.rgb",
    ];
    made.ask("ffmpeg", &raw);
    let pixels = std::fs::read(made.path("shot.rgb")).unwrap();
    assert_eq!(pixels.len(), 400 * 300 * 3);
    let colour = |x: usize, y: usize| &pixels[(y * 400 + x) * 3..][..3];
    for (x, y, seen) in [
        (5, 5, [255, 0, 0]),
        (95, 95, [255, 0, 0]),
        (105, 50, [255, 255, 255]),
        (305, 5, [0, 255, 0]),
        (395, 95, [0, 255, 0]),
        (50, 195, [255, 255, 255]),
        (5, 205, [0, 0, 255]),
        (95, 295, [0, 0, 255]),
        (395, 295, [255, 255, 255]),
    ] {
        assert_eq!(colour(x, y), seen, "at {x}, {y}");
    }
}

#[tokio::test]
async fn figures_come_out_of_a_table_that_scripts_make() {
    let service = Service::start().await;
    if !can_run(&service, "browser", &[]).await {
        return;
    }
    let prompt = include_str!("../../../cli/src/demo/browser.md");
    let made = Made::of_bakery(&service, "browser", prompt).await;
    assert_eq!(made.outputs(), [("bakery-page.png", "image/png")]);
    let sum = |year: &str, column: usize| -> u32 {
        let lines = include_str!("../../../examples/bakery.csv").lines();
        let months = lines.filter(|line| line.starts_with(year));
        months
            .map(|line| line.split(',').nth(column).unwrap().parse::<u32>().unwrap())
            .sum()
    };
    for year in ["2024", "2025"] {
        for column in 1..=4 {
            let sum = sum(year, column);
            let shown = format!("\"{},{:03}\"", sum / 1000, sum % 1000);
            assert!(made.text().contains(&shown), "{shown} in {}", made.text());
        }
    }
}
