//! The script that runs the checks of a task in a sandbox, and the parser of its output.

use std::fmt::Write;

use super::task::Check;

/// The maximum size of the output of a check that is kept.
const MAX_OUTPUT_BYTES: u32 = 4000;
/// The time limit of a check in seconds.
const CHECK_SECONDS: u32 = 120;
/// The prefix of a line with the result of a check.
const MARK: &str = "check-result";

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CheckResult {
    pub(super) name: String,
    pub(super) passed: bool,
    /// The end of the output of the check.
    pub(super) output: String,
}

/// Returns a bash script that moves outputs to `out/` and other files to `in/`, runs the checks and prints a line for
/// each check. No check may contain `delimiter`.
pub(super) fn script(
    checks: &[Check],
    outputs: &[String],
    inputs: &[String],
    delimiter: &str,
) -> String {
    let mut script = "mkdir -p out in /tmp/checks\n".to_owned();
    for (folder, names) in [("out", outputs), ("in", inputs)] {
        for name in names {
            // Writing to a `String` does not fail.
            let _ = writeln!(script, "mv -- {} {folder}/", quoted(&format!("./{name}")));
        }
    }
    for (number, Check { run, .. }) in checks.iter().enumerate() {
        let _ = write!(
            script,
            "cat > /tmp/checks/{number} <<'{delimiter}'\n{run}\n{delimiter}\n\
             timeout {CHECK_SECONDS} bash -eo pipefail /tmp/checks/{number} > /tmp/checks/{number}.txt 2>&1\n\
             echo \"{MARK} {number} $? $(tail -c {MAX_OUTPUT_BYTES} /tmp/checks/{number}.txt | base64 -w 0)\"\n",
        );
    }
    script + "true\n"
}

/// Parses the output of the script. A check without a line did not run.
pub(super) fn results(
    checks: &[Check],
    printed: &str,
    decode: impl Fn(&str) -> String,
) -> Vec<CheckResult> {
    let found = |number: usize| {
        let start = format!("{MARK} {number} ");
        let line = printed.lines().find_map(|line| line.strip_prefix(&start))?;
        let (status, output) = line.split_once(' ').unwrap_or((line, ""));
        Some((status == "0", decode(output.trim())))
    };
    let results = checks.iter().enumerate().map(|(number, check)| {
        let (passed, output) =
            found(number).unwrap_or_else(|| (false, "it did not run".to_owned()));
        CheckResult {
            name: check.name.clone(),
            passed,
            output,
        }
    });
    results.collect()
}

/// Quotes the text as one shell word.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str) -> Check {
        Check {
            name: name.to_owned(),
            run: format!("test -f {name}"),
        }
    }

    #[test]
    fn each_check_has_a_result_by_its_exit_status() {
        let checks = [check("a"), check("b"), check("c")];
        let printed = "noise\ncheck-result 0 0 \ncheck-result 1 1 b3V0\n";
        let found = results(&checks, printed, str::to_owned);
        let found: Vec<_> = found.iter().map(|it| (it.passed, &*it.output)).collect();
        assert_eq!(
            found,
            [(true, ""), (false, "b3V0"), (false, "it did not run")]
        );
    }

    #[test]
    fn names_of_files_are_quoted() {
        let names = ["it's $(x).txt".to_owned()];
        let script = script(&[check("a")], &names, &[], "END");
        assert!(
            script.contains(r"mv -- './it'\''s $(x).txt' out/"),
            "{script}"
        );
        assert!(script.contains("<<'END'\ntest -f a\nEND\n"), "{script}");
    }
}
