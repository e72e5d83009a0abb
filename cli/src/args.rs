//! Groups of options that several commands share.

mod master_key;
mod remote;
mod service;
mod slots;
mod telemetry;
mod value;

pub(crate) use master_key::MasterKeyOptions;
pub(crate) use remote::{ClientOptions, Remote, TEMPORARY};
pub(crate) use service::{
    Api, DataDir, Database, EmbeddedOptions, Listen, PoolerOptions, SandboxOptions, ServiceOptions,
    Up, WorkerOptions,
};
pub(crate) use slots::{KeepFor, Slots};
pub(crate) use telemetry::{LogFormatValue, MetricsListen};
pub(crate) use value::{parse_id, parse_pair, parse_parameter};
