//! The state of the machine during a measurement: other load, and the write latency of its disk.
//!
//! On a busy machine, only figures per second of CPU time and shares of a limit are comparable.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::Context;

use crate::figure::{Figure, median};

const WRITES: usize = 50;
const BLOCK: [u8; 8192] = [0; 8192];

/// Returns figures that show whether a run is meaningful. `place` is the directory of the database.
pub(crate) fn look(place: &Path) -> anyhow::Result<Vec<Figure>> {
    let loads = std::fs::read_to_string("/proc/loadavg")?;
    let load = loads.split(' ').next().context("no load")?.parse()?;
    let processors = std::thread::available_parallelism()?.get() as f64;
    Ok(vec![
        Figure::new("processors", processors, ""),
        Figure::new("others on this machine: load before the run", load, ""),
        Figure::new(
            "disk: 8 KiB written and synced, p50",
            sync_millis(place)?,
            "ms",
        ),
    ])
}

/// Measures the minimum duration of a commit.
fn sync_millis(place: &Path) -> anyhow::Result<f64> {
    let mut file = tempfile::tempfile_in(place)?;
    let mut millis = Vec::with_capacity(WRITES);
    for _ in 0..WRITES {
        let begun_at = Instant::now();
        file.write_all(&BLOCK)?;
        file.sync_data()?;
        millis.push(begun_at.elapsed().as_secs_f64() * 1e3);
    }
    Ok(median(&millis))
}
