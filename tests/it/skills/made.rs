//! Jobs of the built-in skills, with the commands that a good model would choose, and their outputs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::problem::Problem;
use crate::support::{Service, has_program, is_all_required};

/// The search path for programs in jobs. The developer's own path may be different.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const EXAMPLES: [(&str, &[u8]); 2] = [
    ("bakery.csv", include_bytes!("../../../examples/bakery.csv")),
    ("notes.txt", include_bytes!("../../../examples/notes.txt")),
];

/// A completed job and its outputs, which are stored in a folder by name.
pub(super) struct Made {
    pub(super) job: Value,
    folder: TempDir,
}

/// Whether the skill can run here and the programs that check its output are installed. If all tests must run, a
/// skill that cannot run is a failure.
pub(super) async fn can_run(service: &Service, skill: &str, programs: &[&str]) -> bool {
    let (_, found) = service.get(&format!("/v1/skills/{skill}")).await;
    let available = found["available"] == true;
    assert!(
        available || !is_all_required(),
        "{skill} lacks {}",
        found["missing"]
    );
    if !available {
        eprintln!("left out: {skill} lacks {}", found["missing"]);
    }
    available && programs.iter().all(|program| has_program(program))
}

/// Whether workers have this optional module of a skill. If all tests must run, a missing module is a failure.
pub(super) async fn has_module(service: &Service, skill: &str, name: &str) -> bool {
    let (_, found) = service.get(&format!("/v1/skills/{skill}")).await;
    let has_it = found["programs"].get(name).is_some();
    assert!(
        has_it || !is_all_required(),
        "this test needs {name}, and SKILLET_TEST_REQUIRE=all"
    );
    if !has_it {
        eprintln!("left out: this machine has no {name}");
    }
    has_it
}

impl Made {
    /// Runs a prompt of `script/bash` with the bakery's files.
    pub(super) async fn of_bakery(service: &Service, skill: &str, prompt: &str) -> Self {
        Self::of(service, skill, prompt, &EXAMPLES, json!({})).await
    }

    /// Runs a prompt of `script/bash`.
    pub(super) async fn of(
        service: &Service,
        skill: &str,
        prompt: &str,
        inputs: &[(&str, &[u8])],
        parameters: Value,
    ) -> Self {
        let job = service
            .run(&request(skill, prompt, inputs, parameters))
            .await;
        assert_eq!(job["status"], "completed", "{job:#}");
        let text = job["text"].as_str().unwrap();
        let failed = text.starts_with("Step ") && text.contains(" failed.");
        assert!(!failed, "{text}");
        let folder = tempfile::tempdir().unwrap();
        for output in job["outputs"].as_array().unwrap() {
            let name = output["asset"]["name"].as_str().unwrap();
            let content = service.download(&output["asset"]).await;
            std::fs::write(folder.path().join(name), content).unwrap();
        }
        Self { job, folder }
    }

    /// Returns the final text of the job.
    pub(super) fn text(&self) -> &str {
        self.job["text"].as_str().unwrap()
    }

    /// Returns the names and the media types of the outputs.
    pub(super) fn outputs(&self) -> Vec<(&str, &str)> {
        let mut outputs = Vec::new();
        for output in self.job["outputs"].as_array().unwrap() {
            let asset = &output["asset"];
            let text = |field: &str| asset[field].as_str().unwrap();
            outputs.push((text("name"), text("content_type")));
        }
        outputs
    }

    /// Returns the path of an output.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a program in the folder of the outputs, and returns its output.
    pub(super) fn ask(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.start(program, arguments);
        assert!(
            output.status.success(),
            "{program} {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs Python code in the folder of the outputs, and returns its output.
    pub(super) fn ask_python(&self, code: &str) -> String {
        self.ask("python3", &["-I", "-c", code])
    }

    /// Returns a description of each stream of a video or audio file.
    pub(super) fn streams(&self, name: &str) -> Vec<String> {
        let fields = "stream=codec_type,codec_name,width,height,sample_rate,channels";
        let said = self.ask(
            "ffprobe",
            &["-v", "error", "-show_entries", fields, "-of", "json", name],
        );
        let said: Value = serde_json::from_str(&said).unwrap();
        let in_words = |stream: &Value| {
            let text = |field: &str| stream[field].as_str().unwrap_or_default().to_owned();
            let form = match stream["codec_type"].as_str() {
                Some("video") => format!("{}x{}", stream["width"], stream["height"]),
                _ => format!("{} Hz {}", text("sample_rate"), stream["channels"]),
            };
            format!("{} {} {form}", text("codec_type"), text("codec_name"))
        };
        said["streams"]
            .as_array()
            .unwrap()
            .iter()
            .map(in_words)
            .collect()
    }

    /// Returns the duration of a video or audio file, in seconds.
    pub(super) fn length(&self, name: &str) -> f64 {
        let fields = "format=duration";
        let said = self.ask(
            "ffprobe",
            &[
                "-v",
                "error",
                "-show_entries",
                fields,
                "-of",
                "csv=p=0",
                name,
            ],
        );
        said.trim().parse().unwrap()
    }

    /// Returns ffmpeg's report on the volume.
    pub(super) fn listen(&self, name: &str) -> String {
        let output = self.start(
            "ffmpeg",
            &[
                "-nostdin",
                "-hide_banner",
                "-i",
                name,
                "-af",
                "volumedetect",
                "-f",
                "null",
                "-",
            ],
        );
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn start(&self, program: &str, arguments: &[&str]) -> Output {
        Command::new(program)
            .args(arguments)
            .current_dir(self.folder.path())
            .env("PATH", PATH)
            .env("HOME", self.folder.path())
            .env("LANG", "C.UTF-8")
            .output()
            .unwrap()
    }

    /// Converts an office file to PDF with LibreOffice, and returns its pages.
    pub(super) fn pages_of_office_file(&self, name: &str) -> Vec<Picture> {
        self.ask("soffice", &["--headless", "--convert-to", "pdf", name]);
        let pdf = Path::new(name).with_extension("pdf");
        self.pages(pdf.to_str().unwrap())
    }

    /// Returns the pages of a PDF as images.
    pub(super) fn pages(&self, pdf: &str) -> Vec<Picture> {
        self.ask("pdftoppm", &["-r", "40", "-gray", pdf, "page"]);
        let mut pages: Vec<_> = std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "pgm"))
            .collect();
        pages.sort();
        pages.iter().map(|page| Picture::read(page)).collect()
    }
}

/// Returns the API's error for a file that the skill does not accept.
pub(super) async fn refusal(service: &Service, skill: &str, name: &str, content: &[u8]) -> String {
    let body = request(skill, "Do it.", &[(name, content)], json!({}));
    let request = service.request(Method::POST, "/v1/jobs").json(&body);
    let problem = Problem::of(request).await;
    assert_eq!(problem.kind(), (422, "invalid_request"));
    problem.body["errors"][0]["detail"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn request(skill: &str, prompt: &str, inputs: &[(&str, &[u8])], parameters: Value) -> Value {
    let inputs: Vec<_> = inputs
        .iter()
        .map(|(name, content)| json!({"name": name, "data": STANDARD.encode(content)}))
        .collect();
    json!({
        "skill": skill, "model": "script/bash", "prompt": prompt, "inputs": inputs, "parameters": parameters,
        "limits": {"max_iterations": 50},
    })
}

/// An image of a page in shades of grey.
pub(super) struct Picture {
    pub(super) width: usize,
    pub(super) height: usize,
    pixels: Vec<u8>,
}

impl Picture {
    /// Reads a binary PGM, as pdftoppm writes it: `P5`, the size, 255, and a byte for each pixel.
    fn read(path: &Path) -> Self {
        let content = std::fs::read(path).unwrap();
        let mut lines = content.splitn(4, |byte| *byte == b'\n');
        assert_eq!(lines.next(), Some(&b"P5"[..]));
        let size = String::from_utf8(lines.next().unwrap().to_vec()).unwrap();
        let (width, height) = size.split_once(' ').unwrap();
        let pixels = lines.nth(1).unwrap().to_vec();
        Self {
            width: width.parse().unwrap(),
            height: height.parse().unwrap(),
            pixels,
        }
    }

    /// Returns the proportion of pixels that are not white.
    pub(super) fn ink(&self) -> f64 {
        let dark = self.pixels.iter().filter(|pixel| **pixel < 230).count();
        dark as f64 / self.pixels.len() as f64
    }
}
