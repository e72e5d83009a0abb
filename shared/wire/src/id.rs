//! Identifiers: a prefix for the kind and a UUIDv7 with the database's time. They sort by creation time.

mod error;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
#[cfg(feature = "openapi")]
use utoipa::openapi::schema::{ObjectBuilder, Type};
#[cfg(feature = "openapi")]
use utoipa::openapi::{RefOr, Schema};
use uuid::Uuid;

pub use error::{IdKind, InvalidId};

/// The UUID of the examples in messages and documentation.
const EXAMPLE: Uuid = Uuid::from_u128(0x019a_a0c4_5e8d_7000_8000_0000_0000_0000);

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $kind:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[cfg_attr(feature = "server", derive(sqlx::Type))]
        #[cfg_attr(feature = "server", sqlx(transparent))]
        pub struct $name(pub Uuid);

        impl $name {
            /// The kind of object that this identifies.
            pub const KIND: IdKind = $kind;

            /// Creates an identifier that sorts after the earlier ones of this process.
            #[cfg(feature = "server")]
            #[expect(clippy::new_without_default, reason = "each one differs")]
            pub fn new() -> Self {
                Self(crate::clock::new_id())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}_{}", Self::KIND.prefix(), self.0.simple())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::KIND.parse(text).map(Self)
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Cow::<str>::deserialize(deserializer)?;
                text.parse().map_err(D::Error::custom)
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let kind = Self::KIND;
                ObjectBuilder::new()
                    .schema_type(Type::String)
                    .description(Some(format!("The id of {}.", kind.with_article())))
                    .pattern(Some(format!("^{}_[0-9a-f]{{32}}$", kind.prefix())))
                    .examples([Self(EXAMPLE).to_string()])
                    .into()
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::ToSchema for $name {}
    };
}

id!(
    /// The id of a job.
    JobId, IdKind::Job
);
id!(
    /// The id of an asset.
    AssetId, IdKind::Asset
);
id!(
    /// The id of a conversation.
    ConversationId, IdKind::Conversation
);
id!(
    /// The id of an approval.
    ApprovalId, IdKind::Approval
);
id!(
    /// The id of a schedule.
    ScheduleId, IdKind::Schedule
);
id!(
    /// The id of a webhook.
    WebhookId, IdKind::Webhook
);
id!(
    /// The id of a delivery of a webhook.
    DeliveryId, IdKind::Delivery
);
id!(
    /// The id of a tenant.
    TenantId, IdKind::Tenant
);
id!(
    /// The id of an API key (not the key itself).
    KeyId, IdKind::Key
);
id!(
    /// The id of a worker registration. A worker that was declared dead registers again with a new id.
    WorkerId, IdKind::Worker
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_prefix_and_a_uuid_without_hyphens() {
        let id = JobId(EXAMPLE);
        let text = "job_019aa0c45e8d70008000000000000000";
        assert_eq!(id.to_string(), text);
        assert_eq!(text.parse(), Ok(id));
        assert_eq!(serde_json::to_string(&id).unwrap(), format!("\"{text}\""));
        assert_eq!(
            serde_json::from_str::<JobId>(&format!("\"{text}\"")).unwrap(),
            id
        );
    }

    #[test]
    fn the_id_of_something_else_is_named() {
        let asset = AssetId(EXAMPLE).to_string();
        let error = asset.parse::<JobId>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "must be the id of a job (job_…); this is the id of an asset"
        );
    }

    #[test]
    fn only_the_canonical_form_is_an_id() {
        for text in [
            "",
            "job_",
            "019aa0c4-5e8d-7000-8000-000000000000",
            "019aa0c45e8d70008000000000000000",
            "job_019aa0c4-5e8d-7000-8000-000000000000",
            "job_019AA0C45E8D70008000000000000000",
            "job_019aa0c45e8d7000800000000000000",
            "job_019aa0c45e8d7000800000000000000g",
            "job-019aa0c45e8d70008000000000000000",
        ] {
            let error = text.parse::<JobId>().expect_err(text);
            assert_eq!(
                error.to_string(),
                "must be the id of a job, such as job_019aa0c45e8d70008000000000000000"
            );
        }
    }
}
