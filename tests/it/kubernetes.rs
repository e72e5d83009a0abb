//! The Helm chart, the programs of its pods, and the dashboard, without a cluster.

mod chart;
mod dashboard;
mod probes;
