//! The programs in the README and the guide, which are the examples of the crate.

use std::path::{Path, PathBuf};

use tokio::process::Command;
use tokio::time::timeout;

use crate::support::{Service, TIMEOUT};

/// The programs and the pages that show them.
const SHOWN: [(&str, &str); 6] = [
    ("run", "clients/rust/README.md"),
    ("follow", "clients/rust/README.md"),
    ("events", "clients/rust/README.md"),
    ("operations", "clients/rust/README.md"),
    ("webhook", "clients/rust/README.md"),
    ("sales", "docs/clients.md"),
];

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    std::fs::read_to_string(path).unwrap()
}

/// Returns the path of an example that Cargo built next to the tests.
fn program(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let debug = tests.parent().unwrap().parent().unwrap();
    debug.join("examples").join(name)
}

async fn run(service: &Service, name: &str, folder: &Path) -> String {
    let mut command = Command::new(program(name));
    let command = command
        .current_dir(folder)
        .env("SKILLET_URL", &service.url)
        .env("SKILLET_API_KEY", &service.key)
        .kill_on_drop(true);
    let ran = timeout(TIMEOUT, command.output()).await;
    let ran = ran.expect("the program ends").unwrap();
    let (out, err) = (
        String::from_utf8(ran.stdout).unwrap(),
        String::from_utf8(ran.stderr).unwrap(),
    );
    assert!(ran.status.success(), "{name}: {out}\n{err}");
    out
}

#[test]
fn the_pages_show_the_examples() {
    let mut blocks = 0;
    for (name, page) in SHOWN {
        let source = read(&format!("clients/rust/examples/{name}.rs"));
        let start = source.find("\nuse ").expect("a program imports the client");
        let block = format!("```rust\n{}\n```\n", source[start..].trim());
        assert!(
            read(page).contains(&block),
            "{page}: show clients/rust/examples/{name}.rs from its first `use` on"
        );
        blocks += 1;
    }
    let pages = ["clients/rust/README.md", "docs/clients.md"].map(read);
    let shown: usize = pages
        .iter()
        .map(|page| page.matches("```rust\n").count())
        .sum();
    assert_eq!(
        shown, blocks,
        "each Rust block is an example that this test runs"
    );
}

#[tokio::test]
async fn the_examples_run() {
    let service = Service::start().await;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let printed = run(&service, "run", folder).await;
    assert!(printed.contains("notes.txt: 5 of 5 bytes"), "{printed}");
    assert!(printed.contains("saved ./page.html"), "{printed}");
    let printed = run(&service, "follow", folder).await;
    assert!(
        printed.contains("ok\n") && printed.ends_with("completed\n"),
        "{printed}"
    );
    let printed = run(&service, "events", folder).await;
    assert!(printed.contains("\njob.completed job_"), "{printed}");
    let printed = run(&service, "operations", folder).await;
    assert!(
        printed.contains("job_") && printed.contains("422 "),
        "{printed}"
    );
    assert_eq!(run(&service, "webhook", folder).await, "400\n");
    assert_eq!(run(&service, "sales", folder).await, "done\n./sales.html\n");
    let printed = run(&service, "report", folder).await;
    assert!(
        printed.contains("approving") && printed.contains("saved ./prices.html"),
        "{printed}"
    );
    assert!(folder.join("prices.html").exists());
}
