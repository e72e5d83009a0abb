//! Programs and interpreter modules that commands find on this machine.

mod known;
mod search;
mod version;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use shared::skill::Program;
use tokio::time::timeout;

use worker_sandbox::{NODE_PATH, Sandbox};

pub(crate) use known::KnownPrograms;
pub(crate) use search::search;
pub use version::versions;

/// The folders of programs: the `PATH` of commands.
const FOLDERS: [&str; 6] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

/// The timeout of a search for modules, much longer than it takes. After that, modules count as missing.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Returns the wanted programs that are installed and that commands in the sandbox can use. A command searches for
/// modules, in a workspace below `home`.
pub async fn installed<'a>(
    wanted: impl IntoIterator<Item = &'a Program>,
    sandbox: &Sandbox,
    home: &Path,
) -> BTreeSet<Program> {
    let (commands, modules): (Vec<_>, Vec<_>) = wanted
        .into_iter()
        .partition(|program| matches!(program, Program::Command(_)));
    let mut found: BTreeSet<_> = commands
        .into_iter()
        .filter(|program| is_on_path(&program.to_string(), sandbox))
        .cloned()
        .collect();
    if !modules.is_empty() {
        match probe(&modules, sandbox, home).await {
            Ok(there) => found.extend(there),
            Err(error) => tracing::warn!(error = format!("{error:#}"), "cannot look for modules"),
        }
    }
    found
}

fn is_on_path(name: &str, sandbox: &Sandbox) -> bool {
    FOLDERS.iter().any(|folder| {
        // A link may point to a place that commands cannot access.
        let Ok(path) = Path::new(folder).join(name).canonicalize() else {
            return false;
        };
        let found = path.metadata();
        sandbox.sees(&path)
            && found.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    })
}

/// Searches for all modules with one command, because interpreters start slowly.
async fn probe(
    modules: &[&Program],
    sandbox: &Sandbox,
    home: &Path,
) -> anyhow::Result<BTreeSet<Program>> {
    let place = home.join(format!("modules-{}", uuid::Uuid::now_v7()));
    let printed = timeout(TIMEOUT, sandbox.run_once(&script(modules), place))
        .await
        .context("it took too long")??;
    Ok(printed
        .lines()
        .filter_map(|line| Program::parse(line).ok())
        .collect())
}

/// Returns a script that prints the name of each installed module. It imports nothing, because
/// some imports take seconds.
fn script(modules: &[&Program]) -> String {
    let (mut python, mut packages, mut node) = (String::new(), String::new(), String::new());
    for module in modules {
        let _ = match module {
            Program::PythonModule(name) => write!(python, " {name}"),
            Program::PythonPackage(name) => write!(packages, " {name}"),
            Program::NodePackage(name) => write!(node, " {name}"),
            Program::Command(_) => Ok(()),
        };
    }
    format!(
        r#"command -v python3 > /dev/null && python3 -I - {python} --packages {packages} << 'END'
import importlib.metadata, importlib.util, sys
modules, packages = sys.argv[1:sys.argv.index("--packages")], sys.argv[sys.argv.index("--packages") + 1:]
for name in packages:
    try:
        importlib.metadata.version(name)
        print("pip:" + name)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        pass
for name in modules:
    try:
        if importlib.util.find_spec(name):
            print("python3:" + name)
    except (ImportError, ValueError):
        pass
END
command -v node > /dev/null && for name in {node}; do
    for folder in {folders}; do
        [[ -f $folder/$name/package.json ]] && echo "node:$name" && break
    done
done
true"#,
        folders = NODE_PATH.replace(':', " "),
    )
}
