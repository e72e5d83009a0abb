//! File names of assets.

/// The longest file name that most file systems accept, in bytes.
const MAX_BYTES: usize = 255;

/// Turns a name from a client, a URL or a model into a plain file name: the last segment without control characters.
/// The result is never empty, `.` or `..`.
pub fn file_name(claimed: &str) -> String {
    let last = claimed
        .rsplit(['/', '\\'])
        .find(|segment| !segment.trim().is_empty())
        .unwrap_or("");
    let plain: String = last
        .chars()
        .filter(|char| !char.is_control() && !is_invisible(*char))
        .collect();
    let plain = plain.trim().trim_start_matches('-');
    if plain.chars().all(|char| char == '.') {
        return "file".to_owned();
    }
    shorten(plain)
}

/// Whether the character is a direction mark or has no width. Such characters make one name look like another.
pub(crate) fn is_invisible(char: char) -> bool {
    matches!(char, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Shortens the stem and keeps the extension.
fn shorten(name: &str) -> String {
    if name.len() <= MAX_BYTES {
        return name.to_owned();
    }
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if extension.len() < 20 => (stem, format!(".{extension}")),
        _ => (name, String::new()),
    };
    let end = stem.floor_char_boundary(MAX_BYTES - extension.len());
    format!("{}{extension}", &stem[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_becomes_a_plain_one() {
        let cases = [
            ("../../etc/passwd", "passwd"),
            ("C:\\temp\\a b.csv", "a b.csv"),
            ("..", "file"),
            ("", "file"),
            ("/", "file"),
            ("a\0b\n.txt", "ab.txt"),
            ("-rf", "rf"),
            ("inv\u{202e}gpj.exe", "invgpj.exe"),
            ("größe.png", "größe.png"),
        ];
        for (claimed, expected) in cases {
            assert_eq!(file_name(claimed), expected, "{claimed:?}");
        }
        let long = file_name(&format!("{}.tar", "é".repeat(300)));
        assert!(long.len() <= 255 && long.ends_with("é.tar"));
    }
}
