//! The Helm chart, what its pods run, and the dashboard. No cluster takes part.

mod chart;
mod dashboard;
mod probes;
