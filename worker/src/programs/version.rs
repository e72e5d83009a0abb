//! Versions of programs, as the programs report them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use shared::skill::Program;
use tokio::time::timeout;

use worker_sandbox::{NODE_PATH, Sandbox};

/// The maximum number of programs per command, so that a command prints no more than is read.
const AT_ONCE: usize = 50;
/// The timeout of a command, much longer than it takes. After that, the versions count as unknown.
const TIMEOUT: Duration = Duration::from_secs(180);
/// The maximum length of an accepted version.
const MAX_VERSION_CHARS: usize = 40;

/// Returns the versions of the programs that report one. The programs run in the sandbox, one after another.
/// The pause after each program is four times its duration, so the search uses a fifth of a processor for about
/// ten seconds. A nice value does not make a command yield: with autogroups (sched(7)), it counts only within
/// the command's own session.
pub async fn versions(
    programs: &BTreeSet<Program>,
    sandbox: &Sandbox,
    home: &Path,
) -> BTreeMap<Program, String> {
    let mut found = BTreeMap::new();
    for some in Vec::from_iter(programs).chunks(AT_ONCE) {
        match ask(some, sandbox, home).await {
            Ok(told) => found.extend(told),
            Err(error) => {
                tracing::warn!(error = format!("{error:#}"), "cannot ask for versions");
            }
        }
    }
    found
}

async fn ask(
    programs: &[&Program],
    sandbox: &Sandbox,
    home: &Path,
) -> anyhow::Result<BTreeMap<Program, String>> {
    let place = home.join(format!("versions-{}", uuid::Uuid::now_v7()));
    let printed = timeout(TIMEOUT, sandbox.run_once(&script(programs), place))
        .await
        .context("it took too long")??;
    let told = printed.lines().filter_map(|line| {
        let (name, words) = line.split_once(' ')?;
        Some((Program::parse(name).ok()?, version_in(words)?.to_owned()))
    });
    Ok(told.collect())
}

/// Returns a script that prints one line per program: its name, and words that may contain its version.
fn script(programs: &[&Program]) -> String {
    let (mut commands, mut python, mut packages, mut node) =
        (String::new(), String::new(), String::new(), String::new());
    for program in programs {
        let (list, name) = match program {
            Program::Command(name) => (&mut commands, name),
            Program::PythonModule(name) => (&mut python, name),
            Program::PythonPackage(name) => (&mut packages, name),
            Program::NodePackage(name) => (&mut node, name),
        };
        list.push(' ');
        list.push_str(name);
    }
    let mut script = r#"give_way() {
    local -i begun=${EPOCHREALTIME/[.,]/}
    "$@"
    sleep $(( (${EPOCHREALTIME/[.,]/} - begun) * 4 ))e-6
}
ask() {
    timeout 10 "$1" "$2" < /dev/null 2>&1 | head -n 5 | LC_ALL=C tr -cs '[:graph:]' ' ' | head -c 200
}
tell() {
    local said
    said=$(ask "$1" --version)
    # Some know no long options, and complain.
    [[ $said =~ [0-9]\.[0-9] ]] || said=$(ask "$1" -v)
    printf '%s %s\n' "$1" "$said"
}
"#
    .to_owned();
    if !commands.is_empty() {
        script += &format!("for name in{commands}; do\n    give_way tell \"$name\"\ndone\n");
    }
    if !python.is_empty() || !packages.is_empty() {
        script +=
            &format!("give_way python3 -I -{python} --packages{packages} << 'END'\n{PYTHON}END\n");
    }
    if !node.is_empty() {
        script += &format!("node - {NODE_PATH}{node} << 'END'\n{NODE}END\n");
    }
    script
}

/// Prints the versions of Python modules and packages. A module has the version of its package. A module
/// of Python itself has none.
const PYTHON: &str = r#"import sys
from importlib import metadata
at = sys.argv.index("--packages")
modules, packages = sys.argv[1:at], sys.argv[at + 1:]
for name in packages:
    try:
        print("pip:" + name, metadata.version(name)[:200])
    except metadata.PackageNotFoundError:
        pass
owners = metadata.packages_distributions() if modules else {}
for name in modules:
    owner = set(owners.get(name.partition(".")[0], []))
    if len(owner) == 1:
        print("python3:" + name, metadata.version(owner.pop())[:200])
"#;

const NODE: &str = r#"const [folders, ...names] = process.argv.slice(2);
for (const name of names) for (const folder of folders.split(":")) try {
    const found = JSON.parse(require("fs").readFileSync(`${folder}/${name}/package.json`, "utf8"));
    console.log(`node:${name}`, String(found.version).slice(0, 200));
    break;
} catch {}
"#;

/// Returns the first word that looks like a version, without surrounding characters: `6.1` in `UnZip 6.1 of 2009`.
fn version_in(words: &str) -> Option<&str> {
    words.split([' ', ',']).find_map(|word| {
        let word = word.strip_prefix('v').unwrap_or(word);
        let is_part = |char: char| char.is_ascii_alphanumeric() || ".+-~_".contains(char);
        let version = word.split(|char| !is_part(char)).next()?;
        let (major, minor) = version.split_once('.')?;
        let is_version = !major.is_empty()
            && major.bytes().all(|byte| byte.is_ascii_digit())
            && minor.starts_with(|char: char| char.is_ascii_digit())
            && version.len() <= MAX_VERSION_CHARS;
        is_version.then(|| version.trim_end_matches(['.', '-', '+', '~', '_']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        for (said, version) in [
            (
                "GNU bash, version 5.2.15(1)-release (x86_64)",
                Some("5.2.15"),
            ),
            (
                "ffmpeg version 5.1.9-0+deb12u1 Copyright",
                Some("5.1.9-0+deb12u1"),
            ),
            (
                "/usr/bin/chromium: 9: [: 2524: unexpected Chromium 156.0.8078.79 built",
                Some("156.0.8078.79"),
            ),
            ("v20.20.2", Some("20.20.2")),
            ("Version: ImageMagick 6.9.11-60 Q16", Some("6.9.11-60")),
            ("UnZip 6.00 of 20 April 2009, by Debian.", Some("6.00")),
            ("2026.10.26", Some("2026.10.26")),
            ("1.4.0-rc.1", Some("1.4.0-rc.1")),
            ("It is 3.2.", Some("3.2")),
            ("libpoppler.so.126.1: cannot open shared object file", None),
            ("Couldn't open file '--version'", None),
            ("1.x", None),
            ("", None),
        ] {
            assert_eq!(version_in(said), version, "{said}");
        }
    }

    #[test]
    fn what_only_looks_like_a_version_is_none() {
        assert_eq!(version_in(&format!("1.{}", "2".repeat(50))), None);
    }
}
