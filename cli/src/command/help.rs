//! Adjustments of the help that clap generates.

use std::fmt::Write;

use clap::Command;

use crate::args::TEMPORARY;

/// The groups of commands in the help.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Jobs",
        &[
            "run",
            "jobs",
            "approvals",
            "assets",
            "conversations",
            "schedules",
            "webhooks",
        ],
    ),
    (
        "Definitions",
        &["skills", "agents", "secrets", "models", "eval"],
    ),
    (
        "Administration",
        &["keys", "tenants", "workers", "queue", "usage"],
    ),
    (
        "Service",
        &[
            "up", "api", "worker", "migrate", "init", "config", "doctor", "demo",
        ],
    ),
    (
        "Client",
        &[
            "open",
            "telegram",
            "login",
            "profiles",
            "completions",
            "man",
        ],
    ),
];

/// The options that select a service.
const CHOICE: [&str; 4] = ["url", "api_key", "profile", "data_dir"];

const EXAMPLES: &str = "Examples:
  skillet run shell 'How many lines does it have?' -i notes.txt -m anthropic/claude-sonnet-4-5
  skillet run -a researcher 'What changed last week?'
  skillet run html 'Make a report.' -i sales.csv -o report --json | jq -r .id
  skillet run -d image 'Draw the sales' -i sales.csv     # prints the id; then: skillet jobs watch ID

Exit status: 0 the job completed, 1 the command failed, 2 wrong arguments, 3 a limit stopped the job,
4 the job failed or was cancelled, 130 interrupted.";

/// Accepts the options of a noun after its verbs too, and hides the options of a temporary service. `skillet up --help`
/// and `docs/configuration.md` describe the hidden options.
pub(super) fn with_client_options(command: Command) -> Command {
    let is_client = command.get_arguments().any(|arg| arg.get_id() == "url");
    if !is_client {
        return command;
    }
    let is_noun = command.has_subcommands();
    let command = if command.get_name() == "run" {
        command.after_help(EXAMPLES)
    } else {
        command
    };
    command.disable_help_subcommand(is_noun).mut_args(|arg| {
        let chooses = CHOICE.contains(&arg.get_id().as_str());
        let is_temporary = arg.get_help_heading() == Some(TEMPORARY);
        let arg = arg.global(is_noun).hide(is_temporary && !chooses);
        if chooses {
            arg.help_heading("Service")
        } else {
            arg
        }
    })
}

/// Shows the commands in groups.
pub(super) fn with_groups(command: Command) -> Command {
    let mut groups = String::new();
    for (title, names) in GROUPS {
        let _ = write!(groups, "\n{title}:\n");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(groups, "  {name:<14}{about}");
        }
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\nOptions:\n{{options}}\n\n\
         `skillet help COMMAND` describes a command."
    );
    command.help_template(template)
}

/// Makes errors show the plain usage of the command. By default, clap adds each option that has a value, also from an
/// environment variable.
pub(super) fn with_plain_usage(mut command: Command) -> Command {
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    command
        .override_usage(usage)
        .mut_subcommands(with_plain_usage)
}

/// clap passes the options of a noun to its verbs by id, so no argument of a verb may have the id of such an option.
#[test]
fn no_argument_of_a_verb_has_the_id_of_an_option_of_its_noun() {
    let definition = super::definition();
    for noun in definition.get_subcommands() {
        let options: Vec<_> = noun.get_arguments().map(clap::Arg::get_id).collect();
        for verb in noun.get_subcommands() {
            let own = verb.get_arguments().filter(|arg| !arg.is_global_set());
            let mut own = own.filter(|arg| arg.get_id() != "help");
            let clash = own.find(|arg| options.contains(&arg.get_id()));
            let place = format!("{} {}", noun.get_name(), verb.get_name());
            assert!(clash.is_none(), "{place}: {clash:?}");
        }
    }
}

#[test]
fn the_help_has_every_visible_command_in_one_group() {
    let command = super::definition();
    let visible = command.get_subcommands().filter(|it| !it.is_hide_set());
    let names = visible
        .map(Command::get_name)
        .filter(|name| *name != "help");
    let mut names: Vec<_> = names.collect();
    let mut grouped: Vec<_> = GROUPS
        .iter()
        .flat_map(|(_, names)| *names)
        .copied()
        .collect();
    names.sort_unstable();
    grouped.sort_unstable();
    assert_eq!(names, grouped);
}
