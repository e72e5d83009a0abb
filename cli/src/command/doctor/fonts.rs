//! Scripts without an installed font. Documents, pages and pictures show them as empty boxes.

use std::process::Command;

/// Scripts, each with one of its characters in hexadecimal.
const SCRIPTS: [(&str, &str); 7] = [
    ("Arabic", "0627"),
    ("Chinese", "4e2d"),
    ("Cyrillic", "0436"),
    ("Hindi", "0928"),
    ("Japanese", "3042"),
    ("Korean", "d55c"),
    ("emoji", "1f642"),
];

/// The scripts without a font; `None` if fontconfig is not installed.
pub(super) fn missing() -> Option<Vec<&'static str>> {
    let mut missing = Vec::new();
    for (script, character) in SCRIPTS {
        let pattern = format!(":charset={character}");
        let listed = Command::new("fc-list").args([&*pattern, "family"]).output();
        let listed = listed.ok().filter(|output| output.status.success())?;
        if listed.stdout.is_empty() {
            missing.push(script);
        }
    }
    Some(missing)
}

/// The line in the report.
pub(super) fn describe(missing: Option<&[&str]>) -> String {
    match missing {
        None => {
            "– fonts: unknown, because fc-list is missing (Debian package fontconfig)".to_owned()
        }
        Some([]) => {
            let names: Vec<_> = SCRIPTS.iter().map(|(script, _)| *script).collect();
            format!("✓ fonts: Latin, {}", names.join(", "))
        }
        Some(missing) => format!(
            "! fonts: none for {}; readers would see empty boxes instead (Debian packages fonts-noto-core, \
             fonts-noto-cjk, fonts-noto-color-emoji)",
            missing.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_which_scripts_lack_a_font() {
        assert!(describe(None).starts_with("– fonts: unknown"));
        assert!(describe(Some(&[])).ends_with("Korean, emoji"));
        let some = describe(Some(&["Hindi", "emoji"]));
        assert!(
            some.starts_with("! fonts: none for Hindi, emoji; "),
            "{some}"
        );
    }
}
