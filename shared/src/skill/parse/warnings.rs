//! Warnings about front matter without effect.

/// The known keys under `metadata`.
const KEYS: [&str; 17] = [
    "title",
    "inputs",
    "outputs",
    "programs",
    "network",
    "secrets",
    "parameters",
    "confirm",
    "log",
    "silent",
    "output_schema",
    "model",
    "timeout_seconds",
    "max_iterations",
    "max_tokens",
    "command_seconds",
    "max_output_chars",
];

/// Returns warnings about unknown tools and unknown keys.
pub(super) fn warnings<'a>(
    unknown_tools: &[String],
    keys: impl Iterator<Item = &'a String>,
) -> Vec<String> {
    let tools = unknown_tools
        .iter()
        .map(|name| format!("`allowed-tools`: there is no tool `{name}`; it is ignored"));
    let unknown_keys = keys.filter(|key| {
        let name = key.strip_prefix("skillet.");
        name.is_some_and(|name| !KEYS.contains(&name))
    });
    let keys =
        unknown_keys.map(|key| format!("`metadata`: `{key}` is not a known key; it is ignored"));
    tools.chain(keys).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_effect_is_a_warning() {
        let keys = ["skillet.title", "skillet.timeout"].map(str::to_owned);
        let found = warnings(&["Task".to_owned()], keys.iter());
        assert_eq!(
            found,
            [
                "`allowed-tools`: there is no tool `Task`; it is ignored",
                "`metadata`: `skillet.timeout` is not a known key; it is ignored",
            ]
        );
    }
}
