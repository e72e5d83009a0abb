//! The input files of a job.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use shared::asset::{OutputKind, content_type_of, file_name};
use shared::id::AssetId;
use shared::job::Input;
use shared::skill::{Inputs, Skill};
use utoipa::ToSchema;

use crate::problem::FieldError;

/// An input file: exactly one of `asset_id`, `url` and `data`.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InputRequest {
    /// An asset: a file that was uploaded, or that a job made.
    pub(super) asset_id: Option<AssetId>,
    /// The URL of a file on the public web. It is fetched when the job starts.
    #[schema(example = "https://example.com/photo.jpg")]
    url: Option<String>,
    /// The content, in Base64. For small files. Requires `name`.
    pub(super) data: Option<String>,
    /// The file name in the workspace; not with `asset_id`. The default for a `url` is its last segment.
    name: Option<String>,
}

/// A file that came with the request, as `data`.
pub(in crate::v1::jobs) struct Inline {
    pub(in crate::v1::jobs) place: usize,
    pub(in crate::v1::jobs) name: String,
    pub(in crate::v1::jobs) content_type: String,
    pub(in crate::v1::jobs) content: Vec<u8>,
}

/// The assets that inputs may refer to, with their media types.
pub(in crate::v1::jobs) type KnownAssets = HashMap<AssetId, String>;

/// A valid input.
pub(super) struct Checked {
    pub(super) input: Input,
    /// The media type. `None` if the file must be fetched first.
    pub(super) content_type: Option<String>,
    pub(super) content: Option<Inline>,
}

impl InputRequest {
    /// Validates the input at this place of the list.
    pub(super) fn check(&self, place: usize, assets: &KnownAssets) -> Result<Checked, FieldError> {
        let at = |field: &str| format!("/inputs/{place}{field}");
        match (self.asset_id, &self.url, &self.data) {
            (Some(id), None, None) if self.name.is_none() => match assets.get(&id) {
                Some(content_type) => Ok(Checked {
                    input: Input::Asset { id },
                    content_type: Some(content_type.clone()),
                    content: None,
                }),
                None => Err(FieldError::new(
                    at("/asset_id"),
                    "there is no such asset; upload it to POST /v1/assets",
                )),
            },
            (Some(_), None, None) => Err(FieldError::new(
                at("/name"),
                "an asset keeps its own name: leave this field out",
            )),
            (None, Some(url), None) => {
                if !(url.starts_with("http://") || url.starts_with("https://")) {
                    return Err(FieldError::new(
                        at("/url"),
                        "must begin with http:// or https://",
                    ));
                }
                let input = Input::Url {
                    url: url.clone(),
                    name: self.name.clone(),
                };
                Ok(Checked {
                    input,
                    content_type: None,
                    content: None,
                })
            }
            (None, None, Some(data)) => {
                let Some(name) = &self.name else {
                    return Err(FieldError::new(
                        at("/name"),
                        "is required for a file that is sent as `data`",
                    ));
                };
                let content = STANDARD.decode(data).map_err(|_| {
                    FieldError::new(at("/data"), "must be Base64 (RFC 4648, section 4)")
                })?;
                let name = file_name(name);
                let content_type = content_type_of(&name, &content);
                // A placeholder. The id of the asset is known after the file is stored.
                let input = Input::Asset { id: AssetId::new() };
                let inline = Inline {
                    place,
                    name,
                    content_type: content_type.clone(),
                    content,
                };
                Ok(Checked {
                    input,
                    content_type: Some(content_type),
                    content: Some(inline),
                })
            }
            _ => Err(FieldError::new(
                at(""),
                "needs exactly one of `asset_id`, `url` and `data`",
            )),
        }
    }
}

/// Returns an error if the skill does not accept files of this type.
pub(super) fn check_kind(skill: &Skill, place: usize, content_type: &str) -> Option<FieldError> {
    let Inputs::Only(kinds) = &skill.inputs else {
        return None;
    };
    if kinds.iter().any(|kind| kind.accepts(content_type)) {
        return None;
    }
    let kinds: Vec<_> = kinds.iter().map(|kind| OutputKind::as_str(*kind)).collect();
    let detail = format!(
        "is {content_type}; the skill `{}` takes: {}",
        skill.name,
        kinds.join(", ")
    );
    Some(FieldError::new(format!("/inputs/{place}"), detail))
}
