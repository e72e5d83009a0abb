//! Components shared by the API and the workers, and the setup of each process.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use api::dispatcher::DispatcherSettings;
use api::origin::Origins;
use api::webhook_target::WebhookTargets;
use ipnet::IpNet;
use shared::asset::AssetStore;
use shared::db::{
    CANCEL_CHANNEL, DatabaseSettings, FEED_CHANNEL, Notifications, WEBHOOK_CHANNEL, WORK_CHANNEL,
};
use shared::provider::Providers;
use shared::secret::MasterKeys;
use shared::skill::Catalog;
use shared::telemetry::metrics::Metrics;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use worker::{Keep, Shutdown};

use crate::args::{SandboxOptions, ServiceOptions, Slots};
use crate::config::Config;
use crate::{directory, master_key};

/// Connections shared by requests or jobs, in an API process and in a worker.
const API_CONNECTIONS: u32 = 20;
const WORKER_CONNECTIONS: u32 = 10;
const SCHEDULER_CONNECTIONS: u32 = 3;
const DISPATCHER_CONNECTIONS: u32 = 4;
/// The maximum number of connections of an API process. Six tasks have their own connection: they look up keys, insert
/// jobs, read events, read milestones, notify, and listen.
pub(crate) const MAX_API_CONNECTIONS: u32 = API_CONNECTIONS + 6;
/// The maximum number of connections of a worker process. Seven tasks have their own connection: they renew the lease,
/// claim, write logs, turn milestones into deliveries, claim deliveries, notify, and listen.
pub(crate) const MAX_WORKER_CONNECTIONS: u32 =
    WORKER_CONNECTIONS + SCHEDULER_CONNECTIONS + DISPATCHER_CONNECTIONS + 7;
/// The notification channels of a worker process.
const WORKER_CHANNELS: &[&str] = &[WORK_CHANNEL, CANCEL_CHANNEL, FEED_CHANNEL, WEBHOOK_CHANNEL];

/// Configured components shared by the API and the workers.
pub(crate) struct Components {
    pub(crate) home: PathBuf,
    assets: AssetStore,
    catalog: Catalog,
    providers: Providers,
    pub(super) master_keys: Option<MasterKeys>,
    webhook_allow: Vec<IpNet>,
    pub(crate) metrics: Metrics,
    /// Whether the worker of this process is registered.
    pub(crate) registered: Arc<AtomicBool>,
}

impl Components {
    /// Opens the components that the options configure. Fails if the asset store cannot be used.
    pub(crate) async fn open(common: &ServiceOptions, config: &Config) -> anyhow::Result<Self> {
        let home = directory::data(common.home.data_dir.as_deref())?;
        directory::warn_if_writable(&home);
        let presigns = common.presigned_downloads;
        let bucket = common
            .assets
            .as_deref()
            .filter(|url| url.starts_with("s3://"));
        anyhow::ensure!(
            !presigns || bucket.is_some(),
            "--presigned-downloads (SKILLET_PRESIGNED_DOWNLOADS) needs a bucket: set --assets (SKILLET_ASSETS) to \
             s3://bucket/prefix"
        );
        let assets = match common.assets.as_deref() {
            Some(url) if bucket.is_some() => AssetStore::in_bucket(url, presigns)?,
            Some(folder) => AssetStore::in_folder(Path::new(folder))?,
            None => {
                let folder = home.join("assets");
                let store = AssetStore::in_folder(&folder)?;
                directory::close(&folder)?;
                store
            }
        };
        assets.check().await?;
        let catalog = Catalog::load(common.skills_dir.as_deref())?;
        let mut providers = config.providers(common.default_model.clone());
        providers.context_windows = common.context_windows.clone();
        providers.prices = common.prices.clone();
        Ok(Self {
            home,
            assets,
            catalog,
            providers,
            master_keys: master_key::configured(&common.master_key)?,
            webhook_allow: common.webhook_allow.clone(),
            metrics: Metrics::default(),
            registered: Arc::default(),
        })
    }

    /// Serves the API on the listener until shutdown.
    pub(crate) async fn run_api(
        &self,
        database: &DatabaseSettings,
        listener: TcpListener,
        origins: Origins,
        metrics_listener: Option<TcpListener>,
        shutdown: CancellationToken,
    ) -> anyhow::Result<()> {
        let settings = api::ApiSettings {
            pool: database.connect("skillet api", API_CONNECTIONS).await?,
            metrics: self.metrics.clone(),
            metrics_listener,
            assets: self.assets.clone(),
            catalog: self.catalog.clone(),
            providers: self.providers.clone(),
            master_keys: self.master_keys.clone(),
            webhook_targets: self.webhook_targets(),
            origins,
            threads: std::thread::available_parallelism().map_or(2, usize::from),
        };
        api::run(settings, listener, shutdown).await
    }

    /// Runs a worker until shutdown.
    pub(crate) async fn run_worker(
        &self,
        database: &DatabaseSettings,
        slots: &Slots,
        sandbox: &SandboxOptions,
        shutdown: Shutdown,
    ) -> anyhow::Result<()> {
        let fetch_allowed: Vec<IpNet> = slots.fetch_allow.clone();
        let pool = database
            .connect("skillet worker", WORKER_CONNECTIONS)
            .await?;
        let (notifications, listening) = Notifications::new(&pool, WORKER_CHANNELS);
        let _listening = AbortOnDropHandle::new(tokio::spawn(listening));
        let settings = worker::Settings {
            pool,
            notifications: notifications.clone(),
            metrics: self.metrics.clone(),
            assets: self.assets.clone(),
            catalog: self.catalog.clone(),
            providers: self.providers.clone(),
            master_keys: self.master_keys.clone(),
            home: self.home.clone(),
            registered: self.registered.clone(),
            slots: slots.slots,
            silence: Duration::from_secs(slots.worker_silence.into()),
            fetch_allowed,
            egress_allowed: slots.egress_allow.clone(),
            install_skill_requirements: slots.install_skill_requirements,
            keep: Keep {
                jobs: slots.keep.retention,
                deltas: slots.keep.delta_retention,
                uploads: slots.keep.upload_retention,
            },
            sandbox: sandbox.sandbox,
            sandbox_read: sandbox.sandbox_read.clone(),
            memory_floor: sandbox.memory_floor,
        };
        let scheduler = api::scheduler::SchedulerSettings {
            pool: database
                .connect("skillet scheduler", SCHEDULER_CONNECTIONS)
                .await?,
            metrics: self.metrics.clone(),
            assets: self.assets.clone(),
            catalog: self.catalog.clone(),
            providers: self.providers.clone(),
            webhook_targets: self.webhook_targets(),
        };
        let dispatcher = DispatcherSettings {
            pool: database
                .connect("skillet webhooks", DISPATCHER_CONNECTIONS)
                .await?,
            notifications,
            metrics: self.metrics.clone(),
            master_keys: self.master_keys.clone(),
            targets: self.webhook_targets(),
        };
        // A worker that drains leaves schedules and webhooks to other workers.
        let scheduling = api::scheduler::run(scheduler, shutdown.drain.clone());
        let scheduler = AbortOnDropHandle::new(tokio::spawn(scheduling));
        let stop_dispatcher = shutdown.drain.child_token();
        let dispatching = api::dispatcher::run(dispatcher, stop_dispatcher.clone())?;
        let dispatcher = AbortOnDropHandle::new(tokio::spawn(dispatching));
        let leave = shutdown.leave.clone();
        let ended = worker::run(settings, shutdown).await;
        drop(scheduler);
        // The attempts of the dispatcher end within seconds, and would be repeated if their results were lost.
        stop_dispatcher.cancel();
        tokio::select! {
            _ = dispatcher => {}
            () = leave.cancelled() => {}
        }
        ended
    }

    fn webhook_targets(&self) -> WebhookTargets {
        WebhookTargets::new(&self.webhook_allow, self.master_keys.is_some())
    }
}
