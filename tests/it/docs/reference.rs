//! The generated references: commands and settings from the definition of the command line.

use std::collections::BTreeMap;
use std::fmt::Write;

use clap::{Arg, Command};

use super::{path, read};

const BEGIN: &str = "<!-- generated: SKILLET_UPDATE=1 cargo test -p tests --test it docs:: -->\n";
const END: &str = "<!-- end of the generated part -->\n";
/// The processes of a service. All other commands are clients.
const SERVERS: [&str; 3] = ["up", "api", "worker"];

#[test]
fn the_list_of_commands_is_that_of_the_program() {
    let mut text = String::new();
    describe(&cli::command(), "skillet", &mut text);
    compare("docs/cli.md", &text);
}

#[test]
fn the_list_of_settings_is_that_of_the_program() {
    let mut settings = BTreeMap::new();
    collect(&cli::command(), None, &mut settings);
    let mut text =
        "| Flag and variable | Used by | Default | Meaning |\n|---|---|---|---|\n".to_owned();
    for (flag, Setting { arg, used_by }) in &settings {
        let variable = arg.get_env().unwrap_or_default().to_string_lossy();
        let _ = writeln!(
            text,
            "| `{flag}`<br>`{variable}` | {} | {} | {} |",
            used_by.join(", "),
            default_of(arg),
            meaning(arg)
        );
    }
    compare("docs/configuration.md", &text);
}

/// Compares the generated part of a page, or writes it with `SKILLET_UPDATE=1`.
fn compare(page: &str, generated: &str) {
    let text = read(page);
    let (head, rest) = text
        .split_once(BEGIN)
        .expect("the page has a generated part");
    let (_, tail) = rest.split_once(END).expect("the generated part ends");
    let current = format!("{head}{BEGIN}\n{}\n\n{END}{tail}", generated.trim());
    if std::env::var("SKILLET_UPDATE").is_ok_and(|value| value == "1") {
        std::fs::write(path(page), &current).unwrap();
    }
    assert!(
        read(page) == current,
        "{page} is not what the program says of itself. If the change is meant: \
         SKILLET_UPDATE=1 cargo test -p tests --test it docs::"
    );
}

/// Describes a command with its arguments and its subcommands.
fn describe(command: &Command, name: &str, text: &mut String) {
    let below: Vec<_> = command
        .get_subcommands()
        .filter(|below| below.get_name() != "help" && !below.is_hide_set())
        .collect();
    if name != "skillet" {
        let about = command
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default();
        let usage = command.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage: ");
        let _ = write!(text, "### {name}\n\n{about}.\n\n```text\n{usage}\n```\n\n");
        // The options of a noun are described once and not with each of its verbs.
        let is_verb = name.split(' ').count() > 2;
        let own = command.get_arguments().filter(|arg| is_own(arg));
        let own: Vec<_> = own
            .filter(|arg| !(is_verb && arg.is_global_set()))
            .collect();
        if !own.is_empty() {
            text.push_str("| Argument | Meaning |\n|---|---|\n");
            for arg in own {
                let default = match default_of(arg).as_str() {
                    "" => String::new(),
                    default => format!(" (default: {default})"),
                };
                let _ = writeln!(text, "| {} | {}{default} |", argument(arg), meaning(arg));
            }
            text.push('\n');
        }
        let takes_settings = command
            .get_arguments()
            .any(|arg| is_setting(arg) && !arg.is_global_set());
        let is_client = command
            .get_arguments()
            .any(|arg| arg.get_long() == Some("url"));
        if takes_settings && !is_client {
            text.push_str("Settings: see [Configuration](configuration.md#all-settings).\n\n");
        }
    }
    for command in below {
        describe(command, &format!("{name} {}", command.get_name()), text);
    }
}

/// Whether the argument can also be set by an environment variable.
fn is_setting(arg: &Arg) -> bool {
    arg.get_env().is_some()
}

fn is_own(arg: &Arg) -> bool {
    let is_help = ["help", "version"].contains(&arg.get_id().as_str());
    !is_setting(arg) && !is_help && !arg.is_hide_set()
}

struct Setting {
    arg: Arg,
    /// The processes that use the setting, and `clients` for all other commands.
    used_by: Vec<String>,
}

fn collect(command: &Command, process: Option<&str>, settings: &mut BTreeMap<String, Setting>) {
    for arg in command.get_arguments().filter(|arg| is_setting(arg)) {
        let Some(flag) = arg.get_long() else { continue };
        let setting = settings
            .entry(format!("--{flag}"))
            .or_insert_with(|| Setting {
                arg: arg.clone(),
                used_by: Vec::new(),
            });
        let user = process.unwrap_or("all").to_owned();
        let is_for_all = setting.used_by.first().is_some_and(|first| first == "all");
        if !is_for_all && !setting.used_by.contains(&user) {
            setting.used_by.push(user);
        }
    }
    for below in command.get_subcommands() {
        let name = below.get_name();
        let process = process.unwrap_or(if SERVERS.contains(&name) {
            name
        } else {
            "clients"
        });
        collect(below, Some(process), settings);
    }
}

fn argument(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let value = names
        .first()
        .map(|name| format!("<{name}>"))
        .unwrap_or_default();
    let takes_value = arg.get_action().takes_values();
    match (arg.get_short(), arg.get_long()) {
        (_, None) => format!("`{value}`"),
        (short, Some(long)) => {
            let short = short.map(|short| format!("-{short}, ")).unwrap_or_default();
            let value = if takes_value {
                format!(" {value}")
            } else {
                String::new()
            };
            format!("`{short}--{long}{value}`")
        }
    }
}

/// Returns the default value, or its description in the help text.
fn default_of(arg: &Arg) -> String {
    let defaults = arg
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy());
    let defaults = defaults.collect::<Vec<_>>().join(",");
    match arg.get_action().takes_values() && !defaults.is_empty() {
        true => format!("`{defaults}`"),
        false => help(arg).1,
    }
}

fn meaning(arg: &Arg) -> String {
    help(arg).0
}

/// Returns the help text and its description of the default value.
fn help(arg: &Arg) -> (String, String) {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let help = help.replace('|', "\\|").replace('\n', " ");
    match help.split_once(" [default: ") {
        Some((meaning, default)) => (meaning.to_owned(), default.trim_end_matches(']').to_owned()),
        None => (help, String::new()),
    }
}
