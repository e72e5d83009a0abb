//! A file of a job in the report.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use shared::asset::Asset;
use skillet_client::Client;

/// The largest file that the report contains.
const MAX_FILE_BYTES: i64 = 8 * 1024 * 1024;
/// The maximum length of a text preview.
const MAX_TEXT_CHARS: usize = 3000;

/// A file and its preview.
pub(super) struct ReportFile {
    pub(super) name: String,
    pub(super) content_type: String,
    pub(super) size: i64,
    /// The content as a data URL, or `None` if it is too large.
    pub(super) url: Option<String>,
    /// A picture of the file as a data URL, if there is one.
    pub(super) picture: Option<String>,
    /// The beginning of a text.
    pub(super) text: Option<String>,
}

impl ReportFile {
    /// Downloads a file and its picture.
    pub(super) async fn load(
        client: &Client,
        asset: &Asset,
        picture: Option<&Asset>,
    ) -> anyhow::Result<Self> {
        let content = match asset.size <= MAX_FILE_BYTES {
            true => Some(content(client, asset).await?),
            false => None,
        };
        let is_text =
            asset.content_type.starts_with("text/") || asset.content_type.contains("json");
        let text = content.as_ref().filter(|_| is_text);
        let text = text.map(|content| {
            let text = String::from_utf8_lossy(content);
            text.chars().take(MAX_TEXT_CHARS).collect()
        });
        let picture = match picture.filter(|it| it.size > 0 && it.size <= MAX_FILE_BYTES) {
            Some(picture) => Some(url("image/png", &self::content(client, picture).await?)),
            None => None,
        };
        Ok(Self {
            name: asset.name.clone(),
            content_type: asset.content_type.clone(),
            size: asset.size,
            url: content.map(|content| url(&asset.content_type, &content)),
            picture,
            text,
        })
    }
}

async fn content(client: &Client, asset: &Asset) -> anyhow::Result<Vec<u8>> {
    let folder = tempfile::tempdir()?;
    let path = client.download(asset, folder.path().join("file")).await?;
    Ok(std::fs::read(path)?)
}

fn url(content_type: &str, content: &[u8]) -> String {
    format!("data:{content_type};base64,{}", STANDARD.encode(content))
}
