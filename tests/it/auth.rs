//! Authentication: keys, scopes, and isolation of tenants.

mod key;
mod tenant;
