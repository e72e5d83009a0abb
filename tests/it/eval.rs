//! `skillet eval`: the tasks that come with Skillet, solved by scripts.

use serde_json::Value;

use crate::support::{Service, Terminal};

/// The programs that some tasks need.
const PROGRAMS: [&str; 9] = [
    "python3", "soffice", "pdftoppm", "qpdf", "pandoc", "ffmpeg", "chromium", "git", "yt-dlp",
];

async fn put_secret(service: &Service, name: &str, value: &str) {
    let path = format!("/v1/secrets/{name}");
    let request = service.request(reqwest::Method::PUT, &path);
    let body = serde_json::json!({"value": value});
    let status = request.json(&body).send().await.unwrap().status();
    assert!(status.is_success(), "{name}: {status}");
}

fn at(service: &Service) -> Terminal {
    Terminal::new(&[
        ("SKILLET_URL", &service.url),
        ("SKILLET_API_KEY", &service.key),
    ])
}

#[tokio::test]
async fn the_solution_of_every_task_passes_its_checks() {
    if !PROGRAMS
        .iter()
        .all(|name| crate::support::has_program(name))
    {
        return;
    }
    let service = Service::start().await;
    for (name, value) in [
        ("SUPABASE_URL", "https://project.invalid"),
        ("SUPABASE_KEY", "a-key-that-opens-nothing"),
        ("SMTP_SERVER", "mail.invalid"),
    ] {
        put_secret(&service, name, value).await;
    }
    let terminal = at(&service);
    let options = ["--jobs", "4", "--no-pictures", "--json"];
    let ran = terminal
        .run(&[&["eval", "-m", "script/bash"], &options[..]].concat())
        .await;
    let failed: Vec<Value> = ran
        .objects()
        .into_iter()
        .filter(|task| task["verdict"] != "passed")
        .collect();
    assert_eq!(ran.code, Some(0), "{failed:#?}\n{}", ran.err);
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(ran.objects().len() >= 40, "{ran:?}");
}

#[tokio::test]
async fn the_report_has_a_picture_of_each_kind_of_document() {
    if !PROGRAMS
        .iter()
        .all(|name| crate::support::has_program(name))
    {
        return;
    }
    let service = Service::start().await;
    let terminal = at(&service);
    let tasks = r#"
tasks:
  - name: writes-documents
    skill: shell
    prompt: Write a page in five formats.
    outputs: ["*.docx", "*.odt", "*.epub", "*.html", "*.xlsx", "broken.pdf"]
    solution: |
      ```bash
      echo '# The bread is warm' > page.md
      for kind in docx odt epub html; do pandoc -s --metadata title=Bread page.md -o page.$kind; done
      python3 -c 'import openpyxl; book = openpyxl.Workbook(); book.active["A1"] = "bread"; book.save("page.xlsx")'
      echo 'no PDF' > broken.pdf
      ```

      output: page.docx
      output: page.odt
      output: broken.pdf
      output: page.epub
      output: page.html
      output: page.xlsx
"#;
    std::fs::write(terminal.folder.path().join("tasks.yaml"), tasks).unwrap();
    let ran = terminal
        .run(&["eval", "tasks.yaml", "-m", "script/bash"])
        .await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report = terminal.folder.path().join("skillet-eval.html");
    let report = std::fs::read_to_string(report).unwrap();
    let pictures: Vec<_> = report.split("<img src=\"data:image/png;base64,").collect();
    assert_eq!(pictures.len(), 7, "{}", &report[..4000.min(report.len())]);
    // The beginning of the placeholder for a missing picture: a PNG that is 800 pixels wide. No page has this width.
    let placeholder = "iVBORw0KGgoAAAANSUhEUgAAAyAA";
    let placeholders = pictures.iter().filter(|it| it.starts_with(placeholder));
    assert_eq!(placeholders.count(), 1, "only the broken file has none");
}

#[tokio::test]
async fn a_failed_check_fails_the_command_and_the_report_shows_it() {
    let service = Service::start().await;
    let terminal = at(&service);
    let tasks = r#"
tasks:
  - name: writes-a-page
    skill: shell
    prompt: Write a page. <b>Now</b>
    inputs: {"in.txt": "words"}
    outputs: ["*.html", "missing.txt"]
    checks:
      - {name: the page has a title, run: grep '<title>' out/page.html}
      - {name: the input is there, run: grep words in/in.txt}
      - {name: the answer says six, run: grep six answer.txt}
    solution: |
      ```bash
      printf '<!doctype html><title>A</title><h1>A</h1>' > page.html; echo seven
      ```

      output: page.html
  - name: says-a-number
    skill: shell
    prompt: Say a number.
    schema: {type: integer}
    checks: [{name: it is seven, run: grep -x 7 result.json}]
    solution: "```bash\necho 7\n```"
  - name: wants-a-secret
    skill: shell
    prompt: Say it.
    secrets: [NO_SUCH_SECRET]
    solution: "```bash\necho 7\n```"
  - name: has-no-solution
    skill: shell
    prompt: Say it.
"#;
    std::fs::write(terminal.folder.path().join("tasks.yaml"), tasks).unwrap();
    let run = ["eval", "tasks.yaml", "-m", "script/bash", "--no-pictures"];
    let ran = terminal.run(&run).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(
        ran.out,
        "1 passed, 1 failed, 2 skipped; the report is skillet-eval.html\n"
    );
    for line in [
        "✓ says-a-number (",
        "\n    no output file matches missing.txt\n    the answer says six: \n",
        "– wants-a-secret: the secret NO_SUCH_SECRET is not set\n",
        "– has-no-solution: the task has no solution\n",
    ] {
        assert!(ran.err.contains(line), "{line}: {ran:?}");
    }
    let report = terminal.folder.path().join("skillet-eval.html");
    let report = std::fs::read_to_string(report).unwrap();
    for part in [
        "<b class=\"passed\">1 passed</b>",
        "Write a page. &lt;b&gt;Now&lt;/b&gt;",
        "<a download=\"page.html\" href=\"data:text/html",
    ] {
        assert!(report.contains(part), "{part}");
    }
    let only = terminal
        .run(&[
            "eval",
            "tasks.yaml",
            "-m",
            "script/bash",
            "--only",
            "says",
            "-q",
        ])
        .await;
    assert_eq!((only.code, &*only.out), (Some(0), ""), "{only:?}");
    let none = terminal
        .run(&["eval", "tasks.yaml", "--only", "nothing"])
        .await;
    assert!(none.err.contains("no task matches"), "{none:?}");
}
