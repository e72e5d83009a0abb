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

/// The maximum size of an output.
const MAX_BYTES: u64 = 100 * 1024 * 1024;
/// The maximum number of bytes of all files that a job makes outputs, including files that are replaced later. It is
/// also the maximum size of the final outputs of a job.
const MAX_TOTAL_BYTES: u64 = 50 * MAX_BYTES;
/// The timeout for storing a file.
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

/// The reason why a file did not become an output.
enum OutputRefusal {
    File(AssetRejection),
    /// With this file, all outputs of the job would be too large.
    TotalTooLarge,
}

impl From<AssetRejection> for OutputRefusal {
    fn from(reason: AssetRejection) -> Self {
        Self::File(reason)
    }
}

/// Copies the open file, so that the content that is checked is stored. A refused file leaves nothing in the store.
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
    // A plain name has no characters that could have separated the letters of a secret.
    let name = file_name(&log.redact(&file_name(&path)));
    let mut upload = call.context.assets.upload();
    let head = (&mut file).take(HEAD_BYTES as u64);
    upload.push_all(head).await.map_err(ToolError::Abort)?;
    let content_type = content_type_of(&name, upload.head());
    if upload.size() == 0 {
        return Ok(Err(AssetRejection::Empty.into()));
    }
    // The file may have grown since its size was read.
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
    /// Returns the reason for the log.
    fn reason(&self) -> AssetRejection {
        match self {
            Self::File(reason) => *reason,
            Self::TotalTooLarge => AssetRejection::TooLarge,
        }
    }

    /// Returns the reason for the model.
    fn explain(&self, path: &str) -> String {
        match self {
            Self::File(reason) => explain(*reason, path),
            Self::TotalTooLarge => format!(
                "with {path}, the outputs of this job, including replaced ones, would exceed the limit of \
                 {MAX_TOTAL_BYTES} bytes"
            ),
        }
    }
}

fn explain(reason: AssetRejection, path: &str) -> String {
    match reason {
        AssetRejection::Missing => format!("there is no file {path} in the workspace"),
        AssetRejection::Empty => format!("{path} is empty"),
        AssetRejection::TooLarge => {
            format!("{path} is larger than {MAX_BYTES} bytes, the limit of an output")
        }
        AssetRejection::Outside => {
            format!("{path} is not in the workspace: copy the file there first")
        }
        AssetRejection::NotAFile => {
            format!("{path} is not a regular file, or has more than one hard link: copy it first")
        }
    }
}
