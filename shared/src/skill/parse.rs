//! Parsing `SKILL.md`.

mod front_matter;
mod parameters;

use std::fmt::Display;
use std::str::FromStr;

use serde_json::Value;

use super::{Files, Inputs, Need, Network, Skill};
use crate::asset::OutputKind;
use crate::hook::{Hooks, ToolPattern};
use crate::limits::Limits;
use crate::secret::SecretNeed;
use crate::tool::ToolName;
use parameters::parameters;

/// What a job may ask for, too.
const MAX_TIMEOUT_SECONDS: u32 = 86_400;
/// More than the models read at once.
const MAX_OUTPUT_CHARS: usize = 1_000_000;

/// What is wrong with a `SKILL.md`.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    /// It does not begin with `---`, or that has no end.
    #[error("it must begin with front matter: YAML between two lines `---`")]
    NoFrontMatter,
    /// It is not UTF-8, or has a NUL in it.
    #[error("it must be text in UTF-8")]
    NotText,
    /// The front matter is not what the format wants.
    #[error("its front matter cannot be read: {0}")]
    Yaml(String),
    /// The name is not that of its folder, or not of the format.
    #[error(
        "its name must be `{folder}` like its folder: lower-case letters, digits and single hyphens, at most 64"
    )]
    Name {
        /// The folder.
        folder: String,
    },
    /// The name is not of the format.
    #[error("its name must be lower-case letters, digits and single hyphens, at most 64")]
    NotAName,
    /// A field holds what it cannot.
    #[error("`{field}`: {problem}")]
    Field {
        /// Which.
        field: &'static str,
        /// The problem.
        problem: String,
    },
}

impl Skill {
    /// Reads the text of the `SKILL.md` of a folder.
    pub fn parse(folder: &str, text: &str, digest: String) -> Result<Self, SkillError> {
        Self::parse_as(Some(folder), text, digest)
    }

    /// The same where the folder may have no name.
    pub(super) fn parse_as(
        folder: Option<&str>,
        text: &str,
        digest: String,
    ) -> Result<Self, SkillError> {
        let (front, instructions) = front_matter::read(text)?;
        check_name(folder, &front.name)?;
        if front.description.is_empty() || front.description.chars().count() > 1024 {
            return Err(field("description", "must have 1 to 1024 characters"));
        }
        let ours = |key: &str| {
            front
                .metadata
                .get(&format!("skillet.{key}"))
                .map(|value| value.trim())
        };
        let parameters = parameters(ours("parameters"))?;
        let secrets = secrets(ours("secrets"))?;
        Ok(Self {
            title: ours("title").unwrap_or(&front.name).to_owned(),
            inputs: inputs(ours("inputs"))?,
            outputs: words(ours("outputs"))
                .map(|word| kind("skillet.outputs", word))
                .collect::<Result<_, _>>()?,
            tools: tools(&front.allowed_tools)?,
            hooks: Hooks {
                confirm: patterns("skillet.confirm", ours("confirm"))?,
                log: patterns("skillet.log", ours("log"))?,
                silent: patterns("skillet.silent", ours("silent"))?,
            },
            network: network(ours("network"), parameters.as_value(), &secrets)?,
            parameters,
            timeout_seconds: number(
                "skillet.timeout_seconds",
                ours("timeout_seconds"),
                Limits::DEFAULT.timeout_seconds,
                MAX_TIMEOUT_SECONDS,
            )?,
            max_output_chars: number(
                "skillet.max_output_chars",
                ours("max_output_chars"),
                200_000,
                MAX_OUTPUT_CHARS,
            )?,
            programs: words(ours("programs"))
                .map(Need::parse)
                .collect::<Result<_, _>>()
                .map_err(|error| field("skillet.programs", &error.to_string()))?,
            secrets,
            name: front.name,
            description: front.description,
            instructions: instructions.trim().to_owned(),
            files: Files::default(),
            digest,
        })
    }
}

/// Whether the text can be the name of a skill, or of an agent.
pub fn is_name(name: &str) -> bool {
    let plain = name
        .chars()
        .all(|char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-');
    plain
        && !name.is_empty()
        && name.len() <= 64
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

fn words(value: Option<&str>) -> impl Iterator<Item = &str> {
    value
        .unwrap_or_default()
        .split([' ', ',', '\n'])
        .filter(|word| !word.is_empty())
}

fn inputs(value: Option<&str>) -> Result<Inputs, SkillError> {
    if matches!(value, None | Some("any")) {
        return Ok(Inputs::Any);
    }
    let kinds = words(value)
        .map(|word| kind("skillet.inputs", word))
        .collect::<Result<_, _>>()?;
    Ok(Inputs::Only(kinds))
}

fn kind(name: &'static str, word: &str) -> Result<OutputKind, SkillError> {
    serde_json::from_value(Value::from(word)).map_err(|_| {
        field(
            name,
            &format!("`{word}` is none of image, audio, video, document, html"),
        )
    })
}

fn number<T: FromStr + PartialOrd + Default + Display>(
    name: &'static str,
    value: Option<&str>,
    default: T,
    highest: T,
) -> Result<T, SkillError> {
    let Some(text) = value else {
        return Ok(default);
    };
    let number = text.parse().ok();
    number
        .filter(|number| *number > T::default() && *number <= highest)
        .ok_or_else(|| {
            let problem = format!("`{text}` is not a whole number from 1 to {highest}");
            field(name, &problem)
        })
}

fn check_name(folder: Option<&str>, name: &str) -> Result<(), SkillError> {
    match folder {
        Some(folder) if name != folder || !is_name(name) => Err(SkillError::Name {
            folder: folder.to_owned(),
        }),
        None if !is_name(name) => Err(SkillError::NotAName),
        _ => Ok(()),
    }
}

/// `NAME` is required, `NAME?` is not, and of `ONE|OTHER` one is.
fn secrets(value: Option<&str>) -> Result<Vec<SecretNeed>, SkillError> {
    const NAME: &str = "skillet.secrets";
    let mut secrets: Vec<SecretNeed> = Vec::new();
    for word in words(value) {
        let needs = SecretNeed::parse_alternatives(word)
            .map_err(|error| field(NAME, &format!("`{word}`: {error}")))?;
        for need in needs {
            if secrets.iter().any(|secret| secret.name == need.name) {
                return Err(field(NAME, &format!("names {} twice", need.name)));
            }
            secrets.push(need);
        }
    }
    Ok(secrets)
}

fn tools(words: &str) -> Result<Vec<ToolName>, SkillError> {
    const NAME: &str = "allowed-tools";
    let mut tools: Vec<ToolName> = Vec::new();
    for word in words.split_whitespace() {
        let tool = ToolName::parse(word).map_err(|error| field(NAME, &error.to_string()))?;
        if tools.contains(&tool) {
            return Err(field(NAME, &format!("names {tool} twice")));
        }
        tools.push(tool);
    }
    Ok(tools)
}

fn patterns(name: &'static str, value: Option<&str>) -> Result<Vec<ToolPattern>, SkillError> {
    let pattern =
        |word| ToolPattern::parse(word).map_err(|error| field(name, &format!("`{word}`: {error}")));
    words(value).map(pattern).collect()
}

fn network(
    value: Option<&str>,
    parameters: &Value,
    secrets: &[SecretNeed],
) -> Result<Network, SkillError> {
    const NAME: &str = "skillet.network";
    let network = Network::parse(words(value)).map_err(|error| field(NAME, &error.to_string()))?;
    if let Some(unknown) = network
        .parameters()
        .find(|name| parameters["properties"].get(name).is_none())
    {
        let problem = format!("`parameter:{unknown}` is not one of the skillet.parameters");
        return Err(field(NAME, &problem));
    }
    if let Some(unknown) = network
        .secrets()
        .find(|name| secrets.iter().all(|need| need.name.as_str() != *name))
    {
        let problem = format!("`secret:{unknown}` is not one of the skillet.secrets");
        return Err(field(NAME, &problem));
    }
    Ok(network)
}

fn field(field: &'static str, problem: &str) -> SkillError {
    SkillError::Field {
        field,
        problem: problem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(metadata: &str) -> Result<Skill, SkillError> {
        let text = format!(
            "---\nname: a\ndescription: A.\nmetadata:\n  skillet.title: A\n{metadata}---\n"
        );
        Skill::parse("a", &text, String::new())
    }

    #[test]
    fn a_skill_reaches_no_host_unless_it_says_so() {
        assert_eq!(skill("").unwrap().network, Network::None);
        let declared = r#"  skillet.parameters: '{"type":"object","properties":{"url":{}}}'
  skillet.secrets: API_URL?
  skillet.network: github.com parameter:url secret:API_URL
"#;
        assert_eq!(
            skill(declared).unwrap().network.to_string(),
            "github.com parameter:url secret:API_URL"
        );
    }

    #[test]
    fn what_is_out_of_range_or_without_end_is_an_error() {
        let error = |metadata: &str| skill(metadata).unwrap_err().to_string();
        for number in ["0", "86401", "-1", "ten"] {
            assert_eq!(
                error(&format!("  skillet.timeout_seconds: '{number}'\n")),
                format!(
                    "`skillet.timeout_seconds`: `{number}` is not a whole number from 1 to 86400"
                )
            );
        }
        let pattern = r#"  skillet.parameters: '{"type":"object","properties":{"a":{"pattern":"(\\w{500}){500}"}}}'
"#;
        assert!(error(pattern).starts_with("`skillet.parameters`: "));
        let schema = r##"  skillet.parameters: '{"type":"object","properties":{"$ref":{"allOf":[{"$ref":"#"}]}}}'
"##;
        assert_eq!(
            error(schema),
            "`skillet.parameters`: refers with `$ref`; write out what is there"
        );
    }

    #[test]
    fn a_tool_that_is_not_there_or_is_named_twice_is_an_error() {
        let skill = |tools: &str| {
            let text = format!("---\nname: a\ndescription: A.\nallowed-tools: {tools}\n---\n");
            Skill::parse("a", &text, String::new())
        };
        let tools = skill("shell.exec  file.read").unwrap().tools;
        assert_eq!(tools, [ToolName::ShellExec, ToolName::FileRead]);
        let error = skill("file.read Bash").unwrap_err().to_string();
        assert!(
            error.starts_with("`allowed-tools`: there is no tool `Bash`; there are: "),
            "{error}"
        );
        let error = skill("file.read shell.exec file.read").unwrap_err();
        assert_eq!(error.to_string(), "`allowed-tools`: names file.read twice");
    }

    #[test]
    fn a_skill_says_which_of_its_calls_wait_for_a_person() {
        assert_eq!(skill("").unwrap().hooks, Hooks::default());
        let hooks = skill("  skillet.confirm: execute_bash set_*\n").unwrap();
        assert_eq!(hooks.hooks.confirm.len(), 2);
        let error = skill("  skillet.log: bash\n").unwrap_err().to_string();
        assert!(
            error.starts_with("`skillet.log`: `bash`: no tool has a name like that"),
            "{error}"
        );
    }

    #[test]
    fn a_host_from_something_that_is_not_declared_is_an_error() {
        let error = skill("  skillet.network: parameter:url\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`skillet.network`: `parameter:url` is not one of the skillet.parameters"
        );
        let error = skill("  skillet.network: secret:KEY\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`skillet.network`: `secret:KEY` is not one of the skillet.secrets"
        );
        let error = skill("  skillet.network: 127.0.0.1\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`skillet.network`: `127.0.0.1`: an address is not accepted: name the host"
        );
    }
}
