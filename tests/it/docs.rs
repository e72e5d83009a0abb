//! The documentation: its commands run, its references match the program, and its links and messages exist.

mod block;
mod link;
mod message;
mod model;
mod page;
mod recipe;
mod reference;
mod session;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The root of the repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Defines the list of pages and a test for each page.
macro_rules! pages {
    ($($test:ident: $page:literal,)*) => {
        const PAGES: &[&str] = &[$($page),*];
        $(
            #[tokio::test]
            async fn $test() {
                page::run($page).await;
            }
        )*
    };
}

pages! {
    the_commands_of_the_readme_run: "README.md",
    the_commands_of_agents_run: "docs/agents.md",
    the_commands_of_budgets_run: "docs/budgets.md",
    the_commands_of_cli_run: "docs/cli.md",
    the_commands_of_clients_run: "docs/clients.md",
    the_commands_of_comparison_run: "docs/comparison.md",
    the_commands_of_configuration_run: "docs/configuration.md",
    the_commands_of_the_console_run: "docs/console.md",
    the_commands_of_jobs_run: "docs/jobs.md",
    the_commands_of_operating_run: "docs/operating.md",
    the_commands_of_eval_run: "docs/eval.md",
    the_commands_of_performance_run: "docs/performance.md",
    the_commands_of_the_quickstart_run: "docs/quickstart.md",
    the_commands_of_scaling_run: "docs/scaling.md",
    the_commands_of_schedules_run: "docs/schedules.md",
    the_commands_of_security_run: "docs/security.md",
    the_commands_of_skills_run: "docs/skills.md",
    the_commands_of_telegram_run: "docs/telegram.md",
    the_commands_of_troubleshooting_run: "docs/troubleshooting.md",
    the_commands_of_webhooks_run: "docs/webhooks.md",
}

#[test]
fn every_page_has_a_test_and_is_in_the_indexes() {
    let tested: BTreeSet<_> = PAGES.iter().map(|page| (*page).to_owned()).collect();
    let mut found = BTreeSet::from(["README.md".to_owned()]);
    for entry in std::fs::read_dir(path("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") {
            found.insert(format!("docs/{name}"));
        }
    }
    assert_eq!(tested, found, "list the page in tests/it/docs.rs");
    for index in ["README.md", "llms.txt"] {
        let text = read(index);
        let missing: Vec<_> = found
            .iter()
            .filter(|page| *page != "README.md" && !text.contains(&format!("]({page}")))
            .collect();
        assert!(
            missing.is_empty(),
            "link these pages in {index}: {missing:?}"
        );
    }
}

fn path(relative: &str) -> PathBuf {
    Path::new(ROOT).join(relative)
}

fn read(relative: &str) -> String {
    let text = std::fs::read_to_string(path(relative));
    text.unwrap_or_else(|error| panic!("{relative}: {error}"))
}
