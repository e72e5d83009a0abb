//! The tool `set_output`, which makes a file an output of the job.

mod glyph_check;

use std::io::Read;
use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use shared::asset::{HEAD_BYTES, OutputKind, content_type_of, file_name};
use shared::db::asset::NewAsset;
use shared::event::{AssetCreated, AssetRejected, AssetRejection, EventData};
use shared::tool::ToolName;

use crate::call::{Call, Done, Tool, ToolError};
use crate::context::ToolContext;
use worker_model::ToolSpec;

/// The largest output.
const MAX_BYTES: u64 = 100 * 1024 * 1024;
/// The most bytes that a job may make outputs, also of files that it replaces: as many as all outputs may have that it
/// ends with.
const MAX_TOTAL_BYTES: u64 = 50 * MAX_BYTES;
/// How long the store may take for a file.
const STORE_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// Makes a file of the workspace an output of the job.
pub(crate) struct SetOutput;

#[derive(Deserialize, JsonSchema)]
#[serde(rename = "Arguments", deny_unknown_fields)]
struct SetOutputArguments {
    /// The file, relative to the workspace.
    path: String,
}

impl Tool for SetOutput {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: ToolName::SetOutput.as_str().into(),
            description: "Gives a finished file of the workspace to the person who asked: an image, a sound file, a \
                          video, a document, data, an archive or an HTML page. Nobody sees a file that was not given \
                          this way. The file is copied at once: call again after changing it. The same path \
                          replaces, another path adds."
                .to_owned(),
            input_schema: schema_for!(SetOutputArguments).into(),
        }
    }

    fn timeout(&self, _: &ToolContext<'_>) -> Duration {
        STORE_TIMEOUT
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Done, ToolError>> {
        Box::pin(async move {
            let SetOutputArguments { path } = call.arguments()?;
            match store(&call, &path).await? {
                Ok(created) => {
                    let asset = &created.asset;
                    let mut text = format!(
                        "{} is an output now: {}, {} bytes",
                        path, asset.content_type, asset.size
                    );
                    if let Some(warning) = glyph_check::warning(&path, asset, &call).await? {
                        text += &format!("\n{warning}");
                    }
                    Ok(Done {
                        text,
                        created: Some(created),
                        ..Done::default()
                    })
                }
                Err(refusal) => {
                    let text = refusal.explain(&path);
                    let reason = refusal.reason();
                    let rejected = AssetRejected { path, reason };
                    call.context
                        .events
                        .append(EventData::AssetRejected(rejected))
                        .await;
                    Err(ToolError::Reply(text))
                }
            }
        })
    }
}

/// Why a file is no output.
enum OutputRefusal {
    File(AssetRejection),
    /// With it, the job's outputs would be too large together.
    TotalTooLarge,
}

impl From<AssetRejection> for OutputRefusal {
    fn from(reason: AssetRejection) -> Self {
        Self::File(reason)
    }
}

/// Copies the open file, so that what is checked is what is stored. What is refused leaves nothing in the store.
async fn store(
    call: &Call<'_>,
    path: &str,
) -> Result<Result<AssetCreated, OutputRefusal>, ToolError> {
    let (mut file, size) = match call.context.workspace.open_file(path) {
        Ok(opened) => opened,
        Err(error) => return Ok(Err(AssetRejection::from(error).into())),
    };
    if size > MAX_BYTES {
        return Ok(Err(AssetRejection::TooLarge.into()));
    }
    if call.output_bytes + size > MAX_TOTAL_BYTES {
        return Ok(Err(OutputRefusal::TotalTooLarge));
    }
    let log = call.context.events;
    let path = log.redact(path);
    // A plain name leaves out what may have stood between the letters of a value.
    let name = file_name(&log.redact(&file_name(&path)));
    let mut upload = call.context.assets.upload();
    let head = (&mut file).take(HEAD_BYTES as u64);
    upload.push_all(head).await.map_err(ToolError::Abort)?;
    let content_type = content_type_of(&name, upload.head());
    if upload.size() == 0 {
        return Ok(Err(AssetRejection::Empty.into()));
    }
    // It may have grown since it was looked at.
    let rest = file.take(MAX_BYTES + 1 - upload.size());
    upload.push_all(rest).await.map_err(ToolError::Abort)?;
    let abort = |error: anyhow::Error| ToolError::Abort(error);
    if upload.size() > MAX_BYTES {
        upload.abort().await.map_err(|error| abort(error.into()))?;
        return Ok(Err(AssetRejection::TooLarge.into()));
    }
    let sealed = upload.seal().await.map_err(|error| abort(error.into()))?;
    let new = NewAsset {
        tenant: call.context.tenant,
        job: Some(call.context.job),
        name: &name,
        content_type: &content_type,
    };
    let stored =
        shared::db::asset::store(call.context.pool, call.context.assets, sealed, new).await;
    let asset = stored.map_err(|error| abort(error.into()))?;
    Ok(Ok(AssetCreated {
        kind: OutputKind::of(&content_type),
        path: path.into_owned(),
        asset,
    }))
}

impl OutputRefusal {
    /// As the log has it.
    fn reason(&self) -> AssetRejection {
        match self {
            Self::File(reason) => *reason,
            Self::TotalTooLarge => AssetRejection::TooLarge,
        }
    }

    /// As the model reads it.
    fn explain(&self, path: &str) -> String {
        match self {
            Self::File(reason) => explain(*reason, path),
            Self::TotalTooLarge => format!(
                "with {path}, the outputs of this job, with those that were replaced, would have more than \
                 {MAX_TOTAL_BYTES} bytes together, the most that they may have"
            ),
        }
    }
}

fn explain(reason: AssetRejection, path: &str) -> String {
    match reason {
        AssetRejection::Missing => format!("there is no file {path} in the workspace"),
        AssetRejection::Empty => format!("{path} is empty"),
        AssetRejection::TooLarge => {
            format!("{path} is larger than {MAX_BYTES} bytes, the most that an output may have")
        }
        AssetRejection::Outside => {
            format!("{path} is not in the workspace: copy the file there first")
        }
        AssetRejection::NotAFile => {
            format!("{path} is not a regular file of its own: copy it first")
        }
    }
}
