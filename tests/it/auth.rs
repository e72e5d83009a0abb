//! Authentication: API keys, scopes, and isolation of tenants.

mod key;
mod tenant;
