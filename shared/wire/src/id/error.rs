//! Kinds of identifiers, and the error for text that is not an id of the expected kind.

use uuid::Uuid;

use super::EXAMPLE;

/// The kind of object that an identifier names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdKind {
    /// A job.
    Job,
    /// An asset.
    Asset,
    /// A conversation.
    Conversation,
    /// An approval.
    Approval,
    /// A schedule.
    Schedule,
    /// A webhook.
    Webhook,
    /// A delivery of a webhook.
    Delivery,
    /// A tenant.
    Tenant,
    /// An API key.
    Key,
    /// A worker.
    Worker,
}

impl IdKind {
    /// All kinds.
    pub const ALL: [Self; 10] = [
        Self::Job,
        Self::Asset,
        Self::Conversation,
        Self::Approval,
        Self::Schedule,
        Self::Webhook,
        Self::Delivery,
        Self::Tenant,
        Self::Key,
        Self::Worker,
    ];

    /// Returns the prefix before the underscore.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Job => "job",
            Self::Asset => "asst",
            Self::Conversation => "conv",
            Self::Approval => "appr",
            Self::Schedule => "sch",
            Self::Webhook => "wh",
            Self::Delivery => "dlv",
            Self::Tenant => "ten",
            Self::Key => "key",
            Self::Worker => "wrk",
        }
    }

    /// Returns the noun for messages.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Job => "job",
            Self::Asset => "asset",
            Self::Conversation => "conversation",
            Self::Approval => "approval",
            Self::Schedule => "schedule",
            Self::Webhook => "webhook",
            Self::Delivery => "delivery",
            Self::Tenant => "tenant",
            Self::Key => "key",
            Self::Worker => "worker",
        }
    }

    /// Returns the noun with its article.
    pub fn with_article(self) -> &'static str {
        match self {
            Self::Job => "a job",
            Self::Asset => "an asset",
            Self::Conversation => "a conversation",
            Self::Approval => "an approval",
            Self::Schedule => "a schedule",
            Self::Webhook => "a webhook",
            Self::Delivery => "a delivery",
            Self::Tenant => "a tenant",
            Self::Key => "an API key",
            Self::Worker => "a worker",
        }
    }

    /// Returns an example id of this kind, for messages and documentation.
    pub fn example(self) -> String {
        format!("{}_{}", self.prefix(), EXAMPLE.simple())
    }

    /// Returns the kind of an id, or `None` if the text is not an id.
    pub fn of(text: &str) -> Option<Self> {
        let mut kinds = Self::ALL.into_iter();
        kinds.find(|kind| uuid_after(text, *kind).is_some())
    }

    /// Parses an id of this kind and returns its UUID.
    pub fn parse(self, text: &str) -> Result<Uuid, InvalidId> {
        uuid_after(text, self).ok_or_else(|| match Self::of(text) {
            Some(found) => InvalidId::OtherKind {
                expected: self,
                found,
            },
            None => InvalidId::Malformed { expected: self },
        })
    }
}

fn uuid_after(text: &str, kind: IdKind) -> Option<Uuid> {
    let hex = text.strip_prefix(kind.prefix())?.strip_prefix('_')?;
    let is_canonical = hex.len() == 32
        && hex
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_canonical.then(|| Uuid::try_parse(hex).ok())?
}

/// The text is not an id of the expected kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidId {
    /// The text is an id of another kind.
    #[error(
        "must be the id of {} ({}_…); this is the id of {}",
        .expected.with_article(), .expected.prefix(), .found.with_article()
    )]
    OtherKind {
        /// The expected kind.
        expected: IdKind,
        /// The kind of the id that was found.
        found: IdKind,
    },
    /// The text is not an id.
    #[error("must be the id of {}, such as {}", .expected.with_article(), .expected.example())]
    Malformed {
        /// The expected kind.
        expected: IdKind,
    },
}

impl InvalidId {
    /// Returns the expected kind.
    pub fn expected(self) -> IdKind {
        match self {
            Self::OtherKind { expected, .. } | Self::Malformed { expected } => expected,
        }
    }
}
