//! Commands of a chat.

/// The commands with their descriptions, as the menu of a chat shows them.
pub(crate) const COMMANDS: [(&str, &str); 7] = [
    ("new", "Begin a new conversation"),
    ("skill", "Run a skill: /skill NAME TASK"),
    ("agent", "Talk to another agent: /agent NAME"),
    ("jobs", "List the latest jobs of this chat"),
    ("cancel", "Cancel a job: reply to it, or name its id"),
    ("retry", "Run a job again: reply to it, or name its id"),
    ("help", "Describe what this bot does"),
];

/// A message that is a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChatCommand {
    /// The name, in lower case.
    pub(crate) name: String,
    /// The bot that the command addresses, if it names one.
    pub(crate) bot: Option<String>,
    /// The text after the command.
    pub(crate) rest: String,
}

/// The maximum length of a command name.
const MAX_NAME: usize = 32;

impl ChatCommand {
    /// Parses a command: `/name` or `/name@bot`, with text after it. A path such as `/etc/hosts` is not a command.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim_start().strip_prefix('/')?;
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        let (head, rest) = text.split_at(end);
        let (name, bot) = match head.split_once('@') {
            Some((name, bot)) => (name, Some(bot.to_owned())),
            None => (head, None),
        };
        let is_name = |it: char| it.is_ascii_alphanumeric() || it == '_';
        let is_command = (1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_name);
        is_command.then(|| Self {
            name: name.to_ascii_lowercase(),
            bot,
            rest: rest.trim().to_owned(),
        })
    }

    /// The first word after the command, and the text after that.
    pub(crate) fn argument(&self) -> (&str, &str) {
        let rest = self.rest.as_str();
        let (word, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        (word, rest.trim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_a_name_and_a_rest() {
        let command = ChatCommand::parse(" /Skill@my_bot  html\n make a page ").unwrap();
        assert_eq!(command.name, "skill");
        assert_eq!(command.bot.as_deref(), Some("my_bot"));
        assert_eq!(command.argument(), ("html", "make a page"));
        let alone = ChatCommand::parse("/new").unwrap();
        assert_eq!((alone.bot.as_deref(), alone.argument()), (None, ("", "")));
    }

    #[test]
    fn text_is_no_command() {
        for text in [
            "",
            "/",
            "new",
            "/etc/hosts",
            "/ä",
            "a /new",
            &format!("/{}", "x".repeat(33)),
        ] {
            assert_eq!(ChatCommand::parse(text), None, "{text}");
        }
    }

    #[test]
    fn telegram_accepts_the_menu() {
        for (name, description) in COMMANDS {
            assert!(ChatCommand::parse(&format!("/{name}")).is_some());
            assert!((1..=256).contains(&description.len()));
        }
    }
}
