//! The table of commands in CONTRIBUTING.md, compared with the recipes of the justfile.

use super::read;

#[test]
fn a_recipe_runs_the_command_that_stands_beside_it() {
    let (contributing, justfile) = (read("CONTRIBUTING.md"), read("justfile"));
    let rows: Vec<_> = contributing.lines().filter_map(row).collect();
    assert!(rows.len() > 5, "{rows:?}");
    for (name, command) in rows {
        let recipe = recipe(&justfile, name);
        let [line] = &recipe[..] else {
            panic!("justfile: `{name}` must be the one command `{command}` and is {recipe:?}");
        };
        let fixed = line
            .trim_end_matches("{{ options }}")
            .trim_end_matches([' ', '-']);
        assert!(
            command == fixed || command.starts_with(&format!("{fixed} ")),
            "justfile: `{name}` runs `{line}`; CONTRIBUTING.md says `{command}`"
        );
    }
}

/// Parses the recipe name and the command of a table row.
fn row(line: &str) -> Option<(&str, &str)> {
    let cells: Vec<_> = line.split('|').map(str::trim).collect();
    let [_, _, recipe, command, _] = cells[..] else {
        return None;
    };
    let name = recipe.strip_prefix("`just ")?.strip_suffix('`')?;
    let command = command.strip_prefix('`')?.strip_suffix('`')?;
    Some((name, command))
}

/// Returns the lines of a recipe.
fn recipe<'a>(justfile: &'a str, name: &str) -> Vec<&'a str> {
    let lines = justfile.lines().skip_while(|line| {
        let head = line.split([' ', ':']).next();
        head != Some(name) || !line.ends_with(':')
    });
    let body = lines.skip(1).take_while(|line| line.starts_with(' '));
    body.map(str::trim).collect()
}
