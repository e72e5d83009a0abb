//! The S3 bucket of the asset store, with a list of unfinished uploads, which `object_store` does not offer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use chrono::{DateTime, Utc};
use object_store::ClientConfigKey;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::signer::{SignedUrlOptions, Signer};
use reqwest::{Client, Method};
use serde::Deserialize;

/// The timeouts of S3 requests: without data, and in total. `AWS_READ_TIMEOUT` and `AWS_TIMEOUT` override them. The
/// library's default ends every request after 30 s, which is too short for copying or sending a large file.
const READ_TIMEOUT: (ClientConfigKey, &str) = (ClientConfigKey::ReadTimeout, "60 seconds");
const REQUEST_TIMEOUT: (ClientConfigKey, &str) = (ClientConfigKey::Timeout, "1 hour");
/// The validity of a presigned URL.
const PRESIGNED_FOR: Duration = Duration::from_secs(300);
/// The timeout of requests that list unfinished uploads.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// A bucket, or a prefix in a bucket.
pub(super) struct Bucket {
    s3: AmazonS3,
    http: Client,
    prefix: Path,
    url: String,
    /// Whether clients download directly from the bucket.
    presigns: bool,
    /// Whether a warning that unfinished uploads cannot be listed was logged already.
    has_warned: AtomicBool,
}

/// The response headers of a presigned download.
pub struct DownloadHeaders<'a> {
    /// `Content-Disposition`.
    pub disposition: &'a str,
    /// `Content-Type`.
    pub content_type: &'a str,
}

/// The fields of a `ListMultipartUploads` response that are used here.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BucketListing {
    #[serde(default)]
    upload: Vec<Unfinished>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Unfinished {
    key: String,
    upload_id: String,
    initiated: DateTime<Utc>,
}

impl Bucket {
    /// Opens `s3://bucket/prefix` without sending a request.
    pub(super) fn open(url: &str, presigns: bool) -> anyhow::Result<(AmazonS3, Self)> {
        let (_, rest) = url.split_once("://").unwrap_or(("", url));
        let (_, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let mut builder = AmazonS3Builder::from_env().with_url(url);
        require_https(&builder)?;
        for (key, value) in [READ_TIMEOUT, REQUEST_TIMEOUT] {
            if std::env::var_os(format!("AWS_{}", key.as_ref().to_ascii_uppercase())).is_none() {
                builder = builder.with_config(AmazonS3ConfigKey::Client(key), value);
            }
        }
        let s3 = builder
            .build()
            .with_context(|| format!("the asset store {url} cannot be opened"))?;
        let bucket = Self {
            s3: s3.clone(),
            http: Client::builder().timeout(LIST_TIMEOUT).build()?,
            prefix: Path::parse(prefix.trim_matches('/'))?,
            url: url.to_owned(),
            presigns,
            has_warned: AtomicBool::new(false),
        };
        Ok((s3, bucket))
    }

    pub(super) fn prefix(&self) -> &Path {
        &self.prefix
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Returns a URL from which anyone can download an object for [`PRESIGNED_FOR`], with these response headers.
    /// Returns `None` if the bucket does not presign.
    pub(super) async fn presign(
        &self,
        path: &Path,
        headers: &DownloadHeaders<'_>,
    ) -> Result<Option<String>, object_store::Error> {
        if !self.presigns {
            return Ok(None);
        }
        let path: Path = self.prefix.parts().chain(path.parts()).collect();
        let options = SignedUrlOptions::new().with_query([
            ("response-cache-control", "private, no-cache"),
            ("response-content-disposition", headers.disposition),
            ("response-content-type", headers.content_type),
        ]);
        let signing = self
            .s3
            .signed_url_opts(Method::GET, &path, PRESIGNED_FOR, &options);
        Ok(Some(signing.await?.into()))
    }

    /// Aborts unfinished uploads to a folder that began before an instant. Parts that a killed process uploaded take
    /// storage but do not appear in lists of objects.
    pub(super) async fn abort_unfinished(&self, folder: &str, before: DateTime<Utc>) {
        let aborting = async {
            for upload in self.list_unfinished(folder).await? {
                if upload.initiated < before {
                    let path = Path::parse(&upload.key)?;
                    self.s3.abort_multipart(&path, &upload.upload_id).await?;
                }
            }
            anyhow::Ok(())
        };
        if let Err(error) = aborting.await
            && !self.has_warned.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                error = format!("{error:#}"),
                "unfinished uploads cannot be removed: give the bucket a lifecycle rule that aborts them, or allow \
                 s3:ListBucketMultipartUploads and s3:AbortMultipartUpload"
            );
        }
    }

    /// Lists the first 1,000 unfinished uploads by name. They are the oldest, because upload names begin with the
    /// time.
    async fn list_unfinished(&self, folder: &str) -> anyhow::Result<Vec<Unfinished>> {
        let folder = format!("{}/", self.prefix.clone().join(folder));
        let options = SignedUrlOptions::new().with_query([("uploads", ""), ("prefix", &folder)]);
        let (method, root) = (Method::GET, Path::default());
        let url = self
            .s3
            .signed_url_opts(method, &root, LIST_TIMEOUT, &options)
            .await?;
        // The URL contains a signature, so errors must not include it.
        let response = self.http.get(url).send().await;
        let response = response.map_err(reqwest::Error::without_url)?;
        let response = response
            .error_for_status()
            .map_err(reqwest::Error::without_url)?;
        let text = response.text().await.map_err(reqwest::Error::without_url)?;
        let listing: BucketListing = quick_xml::de::from_str(&text)?;
        Ok(listing.upload)
    }
}

/// Requires HTTPS unless `AWS_ALLOW_HTTP` is set. The library's own error does not name the variable.
fn require_https(builder: &AmazonS3Builder) -> anyhow::Result<()> {
    let get = |key| builder.get_config_value(&key).unwrap_or_default();
    let is_plain = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint]
        .into_iter()
        .any(|key| get(key).starts_with("http://"));
    let allowed = get(AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp));
    let is_allowed = ["1", "true", "on", "yes", "y"].contains(&&*allowed.to_ascii_lowercase());
    anyhow::ensure!(
        !is_plain || is_allowed,
        "the endpoint of the asset store is not encrypted (http://); set AWS_ALLOW_HTTP=true to allow it"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_uploads_are_read_from_the_list_of_them() {
        let listing: BucketListing = quick_xml::de::from_str(
            r#"<?xml version="1.0" encoding="UTF-8"?>
            <ListMultipartUploadsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
              <Bucket>bucket</Bucket><KeyMarker></KeyMarker><MaxUploads>1000</MaxUploads>
              <IsTruncated>false</IsTruncated>
              <Upload>
                <Key>a/incoming/one</Key><UploadId>id-1</UploadId>
                <Initiator><ID>x</ID></Initiator><StorageClass>STANDARD</StorageClass>
                <Initiated>2010-11-10T20:48:33.000Z</Initiated>
              </Upload>
              <Upload>
                <Key>a/incoming/two</Key><UploadId>id-2</UploadId>
                <Initiated>2010-11-11T20:48:33.000Z</Initiated>
              </Upload>
            </ListMultipartUploadsResult>"#,
        )
        .unwrap();
        let keys = listing.upload.iter().map(|upload| &*upload.key);
        assert_eq!(Vec::from_iter(keys), ["a/incoming/one", "a/incoming/two"]);
        assert!(listing.upload[0].initiated < listing.upload[1].initiated);
        assert_eq!(listing.upload[1].upload_id, "id-2");
        let empty: BucketListing =
            quick_xml::de::from_str("<ListMultipartUploadsResult></ListMultipartUploadsResult>")
                .unwrap();
        assert!(empty.upload.is_empty());
    }
}
