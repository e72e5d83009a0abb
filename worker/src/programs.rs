//! Programs and interpreter modules that commands find on this machine.

mod known;
mod search;
mod version;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
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

/// The timeout of a search for modules, much longer than it takes.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The last line that the search for modules prints.
const END_MARK: &str = "end";

/// Returns the wanted programs that are installed and that commands in the sandbox can use. A command searches for
/// modules, in a workspace below `home`. If it fails, modules count as missing.
pub async fn installed<'a>(
    wanted: impl IntoIterator<Item = &'a Program>,
    sandbox: &Sandbox,
    home: &Path,
) -> BTreeSet<Program> {
    let wanted = Vec::from_iter(wanted);
    match try_installed(&wanted, sandbox, home).await {
        Ok(found) => found,
        Err(error) => {
            tracing::warn!(error = format!("{error:#}"), "cannot look for modules");
            commands_of(&wanted, sandbox)
        }
    }
}

/// As `installed`, but fails if the search for modules fails.
async fn try_installed(
    wanted: &[&Program],
    sandbox: &Sandbox,
    home: &Path,
) -> anyhow::Result<BTreeSet<Program>> {
    let mut found = commands_of(wanted, sandbox);
    let is_module = |program: &&&Program| !matches!(program, Program::Command(_));
    let modules: Vec<_> = wanted.iter().filter(is_module).copied().collect();
    if !modules.is_empty() {
        found.extend(probe(&modules, sandbox, home).await?);
    }
    Ok(found)
}

fn commands_of(wanted: &[&Program], sandbox: &Sandbox) -> BTreeSet<Program> {
    let is_there = |program: &&&Program| {
        matches!(program, Program::Command(_)) && is_on_path(&program.to_string(), sandbox)
    };
    wanted.iter().filter(is_there).copied().cloned().collect()
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
    ensure!(
        printed.lines().last() == Some(END_MARK),
        "the search ended early"
    );
    Ok(printed
        .lines()
        .filter_map(|line| Program::parse(line).ok())
        .collect())
}

/// Returns a script that prints the name of each installed module. It imports nothing, because imports take time, can
/// end the interpreter, and run code. `importlib.util.find_spec` would import the package of a submodule.
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
        r#"if command -v python3 > /dev/null; then python3 -I - {python} --packages {packages} << 'END' || exit
import importlib.machinery, importlib.metadata, importlib.util, os, sys
modules, packages = sys.argv[1:sys.argv.index("--packages")], sys.argv[sys.argv.index("--packages") + 1:]
for name in packages:
    try:
        importlib.metadata.version(name)
        print("pip:" + name)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        pass
def is_there(name):
    if name in sys.modules:
        return True
    top, *rest = name.split(".")
    spec = importlib.util.find_spec(top)
    if not rest:
        return spec is not None
    places = list(spec.submodule_search_locations or ()) if spec else []
    for part in rest[:-1]:
        places = [path for path in (os.path.join(place, part) for place in places) if os.path.isdir(path)]
    paths = [os.path.join(place, rest[-1]) for place in places]
    suffixes = importlib.machinery.all_suffixes()
    return any(os.path.isdir(path) or any(os.path.isfile(path + end) for end in suffixes) for path in paths)
for name in modules:
    try:
        if is_there(name):
            print("python3:" + name)
    except (ImportError, ValueError):
        pass
END
fi
command -v node > /dev/null && for name in {node}; do
    for folder in {folders}; do
        [[ -f $folder/$name/package.json ]] && echo "node:$name" && break
    done
done
echo {END_MARK}"#,
        folders = NODE_PATH.replace(':', " "),
    )
}
