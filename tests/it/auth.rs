//! Who may do what: keys, their scopes, and tenants that do not see each other.

mod key;
mod tenant;
