use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Inputs, Need, Skill};
use crate::job::{Limits, OutputKind};

/// What is wrong with a `SKILL.md`.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    /// It does not begin with `---`, or that has no end.
    #[error("it must begin with front matter: YAML between two lines `---`")]
    NoFrontMatter,
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
    /// A field holds what it cannot.
    #[error("`{field}`: {problem}")]
    Field {
        /// Which.
        field: &'static str,
        /// What is wrong.
        problem: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct FrontMatter {
    name: String,
    description: String,
    #[serde(default)]
    allowed_tools: String,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

impl Skill {
    /// Reads the text of a `SKILL.md`.
    pub fn parse(folder: &str, text: &str, digest: String) -> Result<Self, SkillError> {
        let (yaml, instructions) = split(text).ok_or(SkillError::NoFrontMatter)?;
        let front: FrontMatter =
            serde_saphyr::from_str(yaml).map_err(|error| SkillError::Yaml(error.to_string()))?;
        if front.name != folder || !is_name(&front.name) {
            return Err(SkillError::Name {
                folder: folder.to_owned(),
            });
        }
        if front.description.is_empty() || front.description.chars().count() > 1024 {
            return Err(field("description", "must have 1 to 1024 characters"));
        }
        let ours = |key: &str| {
            front
                .metadata
                .get(&format!("skillet.{key}"))
                .map(|value| value.trim())
        };
        Ok(Self {
            title: ours("title").unwrap_or(&front.name).to_owned(),
            inputs: inputs(ours("inputs"))?,
            outputs: words(ours("outputs"))
                .map(|word| kind("skillet.outputs", word))
                .collect::<Result<_, _>>()?,
            tools: front
                .allowed_tools
                .split_whitespace()
                .map(str::to_owned)
                .collect(),
            parameters: parameters(ours("parameters"))?,
            timeout_seconds: number(
                "skillet.timeout_seconds",
                ours("timeout_seconds"),
                Limits::DEFAULT.timeout_seconds,
            )?,
            max_output_chars: number(
                "skillet.max_output_chars",
                ours("max_output_chars"),
                200_000,
            )?,
            programs: words(ours("programs"))
                .map(|word| Need(word.split('|').map(str::to_owned).collect()))
                .collect(),
            name: front.name,
            description: front.description,
            instructions: instructions.trim().to_owned(),
            digest,
        })
    }
}

fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches('\u{feff}');
    let rest = text
        .strip_prefix("---\n")
        .or_else(|| text.strip_prefix("---\r\n"))?;
    let end = rest.find("\n---")?;
    let (_, body) = rest[end + 1..].split_once('\n').unwrap_or_default();
    Some((&rest[..end], body))
}

fn is_name(name: &str) -> bool {
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

fn number<T: std::str::FromStr>(
    name: &'static str,
    value: Option<&str>,
    default: T,
) -> Result<T, SkillError> {
    let Some(text) = value else {
        return Ok(default);
    };
    text.parse()
        .map_err(|_| field(name, &format!("`{text}` is not a whole number")))
}

fn parameters(value: Option<&str>) -> Result<Value, SkillError> {
    const NAME: &str = "skillet.parameters";
    let Some(text) = value else {
        return Ok(json!({"type": "object", "properties": {}, "additionalProperties": false}));
    };
    let schema: Value =
        serde_json::from_str(text).map_err(|error| field(NAME, &error.to_string()))?;
    if schema["type"] != "object" {
        return Err(field(NAME, "must be a JSON Schema of type object"));
    }
    jsonschema::validator_for(&schema).map_err(|error| field(NAME, &error.to_string()))?;
    Ok(schema)
}

fn field(field: &'static str, problem: &str) -> SkillError {
    SkillError::Field {
        field,
        problem: problem.to_owned(),
    }
}
