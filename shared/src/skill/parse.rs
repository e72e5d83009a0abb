//! The parser for `SKILL.md`.

mod allowed_tools;
mod front_matter;
mod parameters;
mod programs;
mod warnings;

use std::fmt::Display;
use std::str::FromStr;

use serde_json::Value;

use super::{Files, Inputs, Network, Skill};
use crate::asset::OutputKind;
use crate::hook::{Hooks, ToolPattern};
use crate::job::OutputSchema;
use crate::limits::Limits;
use crate::model_list::ModelList;
use crate::secret::SecretNeed;
use allowed_tools::allowed_tools;
use parameters::parameters;
use programs::programs;
use warnings::warnings;

/// The maximum timeout of a job in seconds. Job requests have the same maximum.
const MAX_TIMEOUT_SECONDS: u32 = 86_400;
/// The maximum number of model replies.
const MAX_ITERATIONS: u32 = 1000;
/// The maximum number of tokens of a reply.
const MAX_TOKENS: u32 = 200_000;
/// The default timeout of a command in seconds.
const DEFAULT_COMMAND_SECONDS: u32 = 120;
/// The maximum timeout of a command in seconds.
const MAX_COMMAND_SECONDS: u32 = 3600;
/// The maximum size of a tool's output for the model. It is more than models read at once.
const MAX_OUTPUT_CHARS: usize = 1_000_000;

/// The reason why a `SKILL.md` is invalid.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    /// The front matter is missing or has no end.
    #[error("it must begin with front matter: YAML between two lines `---`")]
    NoFrontMatter,
    /// The text is not UTF-8 or contains NUL.
    #[error("it must be text in UTF-8")]
    NotText,
    /// The front matter is not valid YAML of the format.
    #[error("its front matter cannot be read: {0}")]
    Yaml(String),
    /// The name differs from the name of the folder, or is not valid.
    #[error(
        "its name must be `{folder}` like its folder: lower-case letters, digits and single hyphens, at most 64"
    )]
    Name {
        /// The name of the folder.
        folder: String,
    },
    /// The name is not valid.
    #[error("its name must be lower-case letters, digits and single hyphens, at most 64")]
    NotAName,
    /// A field has an invalid value.
    #[error("`{field}`: {problem}")]
    Field {
        /// The name of the field.
        field: &'static str,
        /// The problem.
        problem: String,
    },
}

impl Skill {
    /// Parses the text of the `SKILL.md` in a folder.
    pub fn parse(folder: &str, text: &str, digest: String) -> Result<Self, SkillError> {
        Self::parse_as(Some(folder), text, digest)
    }

    /// Parses the text of a `SKILL.md`. `folder` is the name of its folder, if known.
    pub(super) fn parse_as(
        folder: Option<&str>,
        text: &str,
        digest: String,
    ) -> Result<Self, SkillError> {
        let (front, instructions) = front_matter::read(text)?;
        check_name(folder, &front.name)?;
        let length = front.description.chars().count();
        if !(1..=1024).contains(&length) {
            let problem = format!("must have 1 to 1024 characters, but has {length}");
            return Err(field("description", &problem));
        }
        let ours = |key: &str| {
            front
                .metadata
                .get(&format!("skillet.{key}"))
                .map(|value| value.trim())
        };
        let parameters = parameters(ours("parameters"))?;
        let secrets = secrets(ours("secrets"))?;
        let allowed = allowed_tools(front.allowed_tools.as_deref())?;
        let (programs, optional) = programs(ours("programs"))?;
        Ok(Self {
            warnings: warnings(&allowed.unknown, front.metadata.keys()),
            title: ours("title").unwrap_or(&front.name).to_owned(),
            inputs: inputs(ours("inputs"))?,
            outputs: words(ours("outputs"))
                .map(|word| kind("skillet.outputs", word))
                .collect::<Result<_, _>>()?,
            tools: allowed.tools,
            is_portable: allowed.is_portable,
            hooks: Hooks {
                confirm: patterns("skillet.confirm", ours("confirm"))?,
                log: patterns("skillet.log", ours("log"))?,
                silent: patterns("skillet.silent", ours("silent"))?,
            },
            network: network(ours("network"), parameters.as_value(), &secrets)?,
            parameters,
            output_schema: output_schema(ours("output_schema"))?,
            models: models(ours("model"))?,
            limits: limits(ours)?,
            command_seconds: number(
                "skillet.command_seconds",
                ours("command_seconds"),
                DEFAULT_COMMAND_SECONDS,
                MAX_COMMAND_SECONDS,
            )?,
            max_output_chars: number(
                "skillet.max_output_chars",
                ours("max_output_chars"),
                200_000,
                MAX_OUTPUT_CHARS,
            )?,
            programs,
            optional,
            secrets,
            name: front.name,
            description: front.description,
            instructions: instructions.trim().to_owned(),
            files: Files::default(),
            digest,
        })
    }
}

/// Whether the text is a valid name of a skill or an agent.
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
            &format!("`{word}` is not one of image, audio, video, document, html"),
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

fn models(value: Option<&str>) -> Result<Option<ModelList>, SkillError> {
    let list = value.map(str::parse::<ModelList>).transpose();
    list.map_err(|error| field("skillet.model", &error.to_string()))
}

fn limits<'a>(ours: impl Fn(&str) -> Option<&'a str>) -> Result<Limits, SkillError> {
    let default = Limits::DEFAULT;
    Ok(Limits {
        timeout_seconds: number(
            "skillet.timeout_seconds",
            ours("timeout_seconds"),
            default.timeout_seconds,
            MAX_TIMEOUT_SECONDS,
        )?,
        max_iterations: number(
            "skillet.max_iterations",
            ours("max_iterations"),
            default.max_iterations,
            MAX_ITERATIONS,
        )?,
        max_tokens: number(
            "skillet.max_tokens",
            ours("max_tokens"),
            default.max_tokens,
            MAX_TOKENS,
        )?,
        ..default
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

/// Parses the declared secrets. `NAME` is required, `NAME?` is optional, and `ONE|OTHER` requires one of them.
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
        let problem = format!("`parameter:{unknown}` is not declared in skillet.parameters");
        return Err(field(NAME, &problem));
    }
    if let Some(unknown) = network
        .secrets()
        .find(|name| secrets.iter().all(|need| need.name.as_str() != *name))
    {
        let problem = format!("`secret:{unknown}` is not declared in skillet.secrets");
        return Err(field(NAME, &problem));
    }
    Ok(network)
}

fn output_schema(value: Option<&str>) -> Result<Option<OutputSchema>, SkillError> {
    const NAME: &str = "skillet.output_schema";
    let Some(text) = value else {
        return Ok(None);
    };
    let schema: Value =
        serde_json::from_str(text).map_err(|error| field(NAME, &error.to_string()))?;
    let schema = OutputSchema::try_from(schema).map_err(|error| field(NAME, &error.to_string()))?;
    Ok(Some(schema))
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
            "`skillet.parameters`: `$ref` is not supported; inline the schema"
        );
    }

    #[test]
    fn a_skill_says_which_of_its_calls_wait_for_a_person() {
        assert_eq!(skill("").unwrap().hooks, Hooks::default());
        let hooks = skill("  skillet.confirm: shell.exec set_*\n").unwrap();
        assert_eq!(hooks.hooks.confirm.len(), 2);
        let error = skill("  skillet.log: bash\n").unwrap_err().to_string();
        assert!(
            error.starts_with("`skillet.log`: `bash`: the pattern matches no tool name"),
            "{error}"
        );
    }

    #[test]
    fn a_host_from_something_that_is_not_declared_is_an_error() {
        let error = skill("  skillet.network: parameter:url\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`skillet.network`: `parameter:url` is not declared in skillet.parameters"
        );
        let error = skill("  skillet.network: secret:KEY\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`skillet.network`: `secret:KEY` is not declared in skillet.secrets"
        );
        let error = skill("  skillet.network: 127.0.0.1\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`skillet.network`: `127.0.0.1`: an IP address is not accepted: use a host name"
        );
    }
}
