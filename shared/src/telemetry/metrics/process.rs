//! The standard `process_*` metrics.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use rustix::process::{Resource, getrlimit};

/// Clock ticks per second in `/proc`, on all supported architectures.
const TICKS_PER_SECOND: f64 = 100.0;
/// Field numbers in `/proc/self/stat`, counted from 0 after the program name.
const USER_TICKS: usize = 11;
const SYSTEM_TICKS: usize = 12;
const THREADS: usize = 17;
const START_TICKS: usize = 19;
const VIRTUAL_BYTES: usize = 20;

/// Collects metrics of this process at each scrape.
#[derive(Debug)]
pub(super) struct ProcessCollector;

/// The resource usage of this process, as reported by the kernel.
#[derive(Debug, PartialEq)]
struct ProcessUsage {
    cpu_seconds: f64,
    threads: f64,
    started_at_seconds: f64,
    virtual_bytes: f64,
    resident_bytes: f64,
}

impl ProcessUsage {
    /// Reads the resource usage. Returns `None` if `/proc` is missing.
    fn read() -> Option<Self> {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let system = std::fs::read_to_string("/proc/stat").ok()?;
        Self::parse(&stat, &status, &system)
    }

    fn parse(stat: &str, status: &str, system: &str) -> Option<Self> {
        // The program name can contain spaces and parentheses.
        let fields: Vec<_> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<f64>().ok();
        let booted_at: f64 = value(system, "btime ")?.parse().ok()?;
        let resident = value(status, "VmRSS:")?.trim_end_matches("kB").trim();
        Some(Self {
            cpu_seconds: (number(USER_TICKS)? + number(SYSTEM_TICKS)?) / TICKS_PER_SECOND,
            threads: number(THREADS)?,
            started_at_seconds: booted_at + number(START_TICKS)? / TICKS_PER_SECOND,
            virtual_bytes: number(VIRTUAL_BYTES)?,
            resident_bytes: resident.parse::<f64>().ok()? * 1024.0,
        })
    }
}

/// The rest of the line that begins with `start`.
fn value<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    let mut lines = text.lines();
    lines
        .find_map(|line| line.strip_prefix(start))
        .map(str::trim)
}

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut gauge = |name: &str, help: &str, unit: Option<&Unit>, value: f64| {
            let gauge = encoder.encode_descriptor(name, help, unit, MetricType::Gauge)?;
            ConstGauge::new(value).encode(gauge)
        };
        if let Ok(files) = std::fs::read_dir("/proc/self/fd") {
            // One of the open files is the directory that is being read.
            let open = files.count().saturating_sub(1) as f64;
            gauge("process_open_fds", "Open file descriptors.", None, open)?;
        }
        if let Some(most) = getrlimit(Resource::Nofile).current {
            let help = "Maximum number of open file descriptors.";
            gauge("process_max_fds", help, None, most as f64)?;
        }
        let Some(usage) = ProcessUsage::read() else {
            return Ok(());
        };
        let (bytes, seconds) = (Some(&Unit::Bytes), Some(&Unit::Seconds));
        gauge("process_threads", "Threads.", None, usage.threads)?;
        let help = "Resident memory.";
        gauge("process_resident_memory", help, bytes, usage.resident_bytes)?;
        let help = "Virtual memory.";
        gauge("process_virtual_memory", help, bytes, usage.virtual_bytes)?;
        let help = "Start time of the process, in seconds since 1970.";
        gauge(
            "process_start_time",
            help,
            seconds,
            usage.started_at_seconds,
        )?;
        let help = "User and system CPU time.";
        let cpu = encoder.encode_descriptor("process_cpu", help, seconds, MetricType::Counter)?;
        ConstCounter::new(usage.cpu_seconds).encode(cpu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_is_read() {
        let stat =
            "7 (a (b) c) S 1 7 7 0 -1 4194560 900 0 0 0 250 50 0 0 20 0 12 0 36000 1048576 300 0 0";
        let status = "Name:\ta\nVmRSS:\t     2048 kB\n";
        let system = "cpu  1 2 3\nbtime 1700000000\n";
        let usage = ProcessUsage {
            cpu_seconds: 3.0,
            threads: 12.0,
            started_at_seconds: 1_700_000_360.0,
            virtual_bytes: 1_048_576.0,
            resident_bytes: 2_097_152.0,
        };
        assert_eq!(ProcessUsage::parse(stat, status, system), Some(usage));
        assert!(ProcessUsage::read().is_some_and(|usage| usage.resident_bytes > 1e5));
    }
}
