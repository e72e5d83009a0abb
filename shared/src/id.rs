//! Identifiers. All are UUIDv7 by the database's clock, so they sort by creation time.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema, sqlx::Type,
        )]
        #[serde(transparent)]
        #[sqlx(transparent)]
        #[schema(value_type = Uuid)]
        pub struct $name(pub Uuid);

        impl $name {
            /// A new identifier, later than all that this process made before.
            #[expect(clippy::new_without_default, reason = "each one differs")]
            pub fn new() -> Self {
                Self(crate::clock::new_id())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }
    };
}

id!(
    /// A job.
    JobId
);
id!(
    /// An asset.
    AssetId
);
id!(
    /// A conversation.
    ConversationId
);
id!(
    /// A call of a tool that waits for a person.
    ApprovalId
);
id!(
    /// A tenant.
    TenantId
);
id!(
    /// An API key (not the key itself).
    KeyId
);
id!(
    /// One life of a worker; a worker that was declared dead goes on under a new one.
    WorkerId
);
