//! Errors of the asset store.

use std::error::Error;
use std::io;

/// The S3 error code for a missing bucket.
const NO_BUCKET: &str = "NoSuchBucket";

/// An error of the asset store. It can also mean that an object that the database names is missing.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A request to the store failed.
    #[error("the asset store failed")]
    Object(#[from] object_store::Error),
    /// The store's folder cannot be read or written.
    #[error("the asset store's folder failed")]
    Folder(#[from] io::Error),
}

impl StoreError {
    /// Whether the store failed. A later try can succeed.
    pub fn is_outage(&self) -> bool {
        !self.is_not_found()
    }

    /// Whether the store denied the request. Nothing has changed in the store then.
    pub fn is_denied(&self) -> bool {
        use object_store::Error::{Generic, PermissionDenied, Unauthenticated};
        match self {
            Self::Object(PermissionDenied { .. } | Unauthenticated { .. }) => true,
            // One of several objects in a bulk deletion was denied.
            Self::Object(error @ Generic { .. }) => {
                innermost(error).contains("(code: AccessDenied)")
            }
            _ => false,
        }
    }

    /// Whether the store works but has no such object.
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::Object(error @ object_store::Error::NotFound { .. }) => {
                s3_code(&innermost(error)).is_none_or(|code| code != NO_BUCKET)
            }
            _ => false,
        }
    }
}

/// Describes the error of the store and a remedy, in one line.
pub(super) fn describe(error: &object_store::Error) -> String {
    let text = innermost(error);
    let Some(code) = s3_code(&text) else {
        return text;
    };
    let message = between(&text, "<Message>", "</Message>").unwrap_or_default();
    let remedy = match code {
        NO_BUCKET => "; create the bucket first",
        "InvalidAccessKeyId"
        | "SignatureDoesNotMatch"
        | "AccessDenied"
        | "ExpiredToken"
        | "InvalidToken" => {
            "; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and their permissions"
        }
        "AuthorizationHeaderMalformed" | "PermanentRedirect" => "; check AWS_REGION",
        _ => "",
    };
    format!("{code}: {}{remedy}", message.trim_end_matches('.'))
}

/// The last error in the chain of causes, which is the most specific one.
fn innermost(error: &object_store::Error) -> String {
    let causes = std::iter::successors(Some(error as &dyn Error), |&error| error.source());
    causes.last().map(ToString::to_string).unwrap_or_default()
}

fn s3_code(text: &str) -> Option<&str> {
    between(text, "<Code>", "</Code>")
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    Some(rest.split_once(end)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn not_found(body: &str) -> object_store::Error {
        object_store::Error::NotFound {
            path: "x".to_owned(),
            source: body.to_owned().into(),
        }
    }

    #[test]
    fn a_missing_bucket_is_no_missing_object() {
        let key = not_found("404: <Error><Code>NoSuchKey</Code><Message>None.</Message></Error>");
        let bucket = not_found(
            "404: <?xml version=\"1.0\"?><Error><Code>NoSuchBucket</Code><Message>The bucket does not exist.</Message></Error>",
        );
        assert_eq!(
            describe(&bucket),
            "NoSuchBucket: The bucket does not exist; create the bucket first"
        );
        assert!(!StoreError::from(bucket).is_not_found());
        assert!(StoreError::from(key).is_not_found());
        assert!(StoreError::from(not_found("no such file")).is_not_found());
    }
}
