//! Measures the service from the outside: real processes, a database of its own, HTTP.
//!
//! `cargo run --release -p bench [-- [--only sandbox] [--json FILE]]`; `bench chaos` is in `chaos`.

mod chaos;
mod command;
mod figure;
mod load;
mod service;
mod takeover;

use std::process::ExitCode;
use std::time::Duration;

use figure::{Figure, percentile, print, write_json};
use service::Service;

/// A job that only passes through: the model answers at once.
const NO_COMMAND: &str = "Nothing to do.";
/// A job with one command.
const ONE_COMMAND: &str = "```bash\ntrue\n```";
const CLIENTS: usize = 32;
const RUN: Duration = Duration::from_secs(8);

fn main() -> ExitCode {
    // The processes under measure are this program again.
    if matches!(
        std::env::args().nth(1).as_deref(),
        Some("api" | "worker" | "sandbox-init")
    ) {
        return cli::main();
    }
    rustls::crypto::ring::default_provider()
        .install_default()
        .expect("nothing was installed before");
    let runtime = tokio::runtime::Runtime::new().expect("a process can have threads");
    let done = if std::env::args().nth(1).as_deref() == Some("chaos") {
        runtime.block_on(chaos::chaos())
    } else {
        runtime.block_on(measure())
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn measure() -> anyhow::Result<()> {
    let figures = match option("--only").as_deref() {
        Some("sandbox") => command::measure().await?,
        Some("takeover") => takeover::measure().await?,
        Some(other) => anyhow::bail!("there is no part `{other}`: sandbox, takeover"),
        None => measure_all().await?,
    };
    print(&figures);
    if let Some(path) = option("--json") {
        write_json(&figures, path.as_ref())?;
    }
    Ok(())
}

/// The value of an option of this process.
fn option(name: &str) -> Option<String> {
    let mut arguments = std::env::args();
    arguments.find(|argument| argument == name)?;
    arguments.next()
}

async fn measure_all() -> anyhow::Result<Vec<Figure>> {
    let mut service = Service::start().await?;
    service.add_worker().await?;
    let mut figures = vec![
        Figure::new("idle API, RSS", service.api.rss_mib()?, "MiB", None),
        Figure::new(
            "idle worker, RSS",
            service.workers[0].rss_mib()?,
            "MiB",
            None,
        ),
    ];

    figures.extend(command::measure().await?);
    let alone = load::one_by_one(&service, NO_COMMAND, 200).await?;
    figures.push(Figure::at_most(
        "one job at a time over HTTP, p50",
        percentile(&alone, 50),
        "ms",
        5.0,
    ));
    figures.extend(start_delays(&service, "idle").await?);
    service.forget_jobs().await?;
    load::at_rate(&service, NO_COMMAND, 300, RUN).await?;
    figures.extend(start_delays(&service, "300/s").await?);

    for workers in 1..=2 {
        if workers == 2 {
            service.add_worker().await?;
        }
        for (what, prompt, target) in [
            ("no command", NO_COMMAND, Some(1500.0)),
            ("`true`", ONE_COMMAND, None),
        ] {
            let jobs_per_second = load::closed_loop(&service, prompt, CLIENTS, RUN).await?;
            let name = format!("jobs over HTTP, {what}, {CLIENTS} clients, {workers} worker(s)");
            figures.push(Figure::new(&name, jobs_per_second, "jobs/s", target));
        }
    }
    Ok(figures)
}

/// From a job's acceptance to its start, over all jobs that there are.
async fn start_delays(service: &Service, load: &str) -> anyhow::Result<[Figure; 2]> {
    let delays = service.start_delays().await?;
    Ok([(50, 3.0), (99, 10.0)].map(|(percent, target)| {
        let name = format!("submit → job.started, {load}, p{percent}");
        Figure::at_most(&name, percentile(&delays, percent), "ms", target)
    }))
}
