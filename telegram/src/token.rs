//! The token of a bot.

use std::fmt;

/// The token of a bot, as issued by @BotFather. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct BotToken {
    bot: i64,
    text: String,
}

/// The error for a text that is not a token. It does not repeat the text.
#[derive(Debug, thiserror::Error)]
#[error(
    "the token of the bot must be a number, a colon and letters, as @BotFather gives it: 123456789:AAE…"
)]
pub struct InvalidBotToken;

impl BotToken {
    /// Parses a token. White space around it is ignored.
    pub fn parse(text: &str) -> Result<Self, InvalidBotToken> {
        let text = text.trim();
        let (bot, secret) = text.split_once(':').ok_or(InvalidBotToken)?;
        let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-');
        if secret.is_empty() || !secret.chars().all(is_plain) {
            return Err(InvalidBotToken);
        }
        Ok(Self {
            bot: bot.parse().map_err(|_| InvalidBotToken)?,
            text: text.to_owned(),
        })
    }

    /// The id of the bot.
    pub(crate) fn bot(&self) -> i64 {
        self.bot
    }

    /// Returns the token itself, for the path of a request.
    pub(crate) fn reveal(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for BotToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BotToken({}:…)", self.bot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_and_not_shown() {
        let token = BotToken::parse(" 42:AA-b_9\n").unwrap();
        assert_eq!((token.bot(), token.reveal()), (42, "42:AA-b_9"));
        assert_eq!(format!("{token:?}"), "BotToken(42:…)");
        for wrong in ["", "42", "42:", ":AA", "42:A/../x", "x:AA", "42:AA:B"] {
            let error = BotToken::parse(wrong).expect_err(wrong);
            assert!(!error.to_string().contains("42:A/"));
        }
    }
}
