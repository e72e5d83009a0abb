//! What all attempts of a worker share.

use reqwest::Client;
use shared::asset::AssetStore;
use shared::provider::Providers;
use shared::skill::Catalog;
use sqlx::PgPool;
use tokio::sync::Semaphore;

use crate::fetch::FetchClient;
use crate::log::LogWriter;
use crate::workspace::WorkspaceRoot;

/// What all attempts of a worker share.
pub(crate) struct Shop {
    pub(crate) pool: PgPool,
    pub(crate) assets: AssetStore,
    pub(crate) catalog: Catalog,
    pub(crate) providers: Providers,
    /// Asks the providers.
    pub(crate) http: Client,
    /// Asks whatever a client named.
    pub(crate) fetch: FetchClient,
    pub(crate) log: LogWriter,
    /// Commands that may run at once.
    pub(crate) commands: Semaphore,
    /// Where workspaces are made.
    pub(crate) workspaces: WorkspaceRoot,
}
