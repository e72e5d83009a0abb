//! The programs that a skill declares.

use super::{SkillError, field, words};
use crate::skill::Need;

/// Parses the declaration. Returns the required programs, and the optional programs, which are marked with `?`.
pub(super) fn programs(value: Option<&str>) -> Result<(Vec<Need>, Vec<Need>), SkillError> {
    let (mut required, mut optional) = (Vec::new(), Vec::new());
    for word in words(value) {
        let (list, text) = match word.strip_suffix('?') {
            Some(text) => (&mut optional, text),
            None => (&mut required, word),
        };
        let need =
            Need::parse(text).map_err(|error| field("skillet.programs", &error.to_string()))?;
        list.push(need);
    }
    Ok((required, optional))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_mark_makes_a_program_optional() {
        let (required, optional) = programs(Some("python3 soffice? magick|convert?")).unwrap();
        let shown = |needs: &[Need]| needs.iter().map(Need::as_text).collect::<Vec<_>>();
        assert_eq!(shown(&required), ["python3"]);
        assert_eq!(shown(&optional), ["soffice", "magick|convert"]);
        let error = programs(Some("a?b")).unwrap_err().to_string();
        assert!(
            error.starts_with("`skillet.programs`: `a?b` is neither"),
            "{error}"
        );
    }
}
