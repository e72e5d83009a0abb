//! Size limits of an MCP message: in bytes, and in values, each of which can take a hundred times its bytes in memory.

/// The maximum size of a message in bytes.
pub(super) const MAX_MESSAGE_BYTES: usize = 10 * 1024 * 1024;
/// The maximum number of values and names in a message.
const MAX_VALUES: usize = 200_000;

/// The size of a message that arrives in pieces.
#[derive(Default)]
pub(super) struct Size {
    bytes: usize,
    values: usize,
    /// Whether the next byte is inside a string, and whether a backslash precedes it.
    in_string: bool,
    is_escaped: bool,
}

/// A message is larger than allowed.
#[derive(Debug, thiserror::Error)]
#[error("a message is too large")]
pub(super) struct TooLarge;

impl Size {
    /// Adds the next piece.
    pub(super) fn add(&mut self, piece: &[u8]) -> Result<(), TooLarge> {
        self.bytes += piece.len();
        for byte in piece {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = self.in_string,
                b'"' => self.in_string = !self.in_string,
                b',' | b':' | b'[' | b'{' if !self.in_string => self.values += 1,
                _ => {}
            }
        }
        if self.bytes > MAX_MESSAGE_BYTES || self.values > MAX_VALUES {
            Err(TooLarge)
        } else {
            Ok(())
        }
    }

    /// Checks a complete message.
    pub(super) fn check(message: &[u8]) -> Result<(), TooLarge> {
        Self::default().add(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_a_few_long_texts_is_smaller_than_one_of_many_short_ones() {
        let text = r#"a, [b], {"c": \"d\"} \\"#.replace('"', "\\\"").repeat(MAX_VALUES / 4);
        assert!(Size::check(format!("[\"{text}\"]").as_bytes()).is_ok());
        let many = format!("[{}0]", "0,".repeat(MAX_VALUES));
        assert!(Size::check(many.as_bytes()).is_err());
        let fewer = format!("[{}0]", "0,".repeat(MAX_VALUES / 2));
        assert!(Size::check(fewer.as_bytes()).is_ok());
        assert!(Size::check(&vec![b'x'; MAX_MESSAGE_BYTES + 1]).is_err());
    }

    #[test]
    fn it_does_not_matter_how_a_message_is_cut() {
        let message = br#"{"a\"b,c": ["\\", {"d": 1}]}"#;
        let mut whole = Size::default();
        whole.add(message).unwrap();
        let mut cut = Size::default();
        message.iter().for_each(|byte| cut.add(&[*byte]).unwrap());
        assert_eq!((whole.values, cut.values), (6, 6));
    }
}
