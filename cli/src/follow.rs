//! The display of a job at the terminal until it ends.

use std::pin::pin;
use std::time::Duration;

use shared::job::{Job, QueuePlace, Status};
use skillet_client::Client;
use tokio::signal::unix::Signal;
use tokio::time::sleep;

use crate::approval_prompt::ApprovalPrompt;
use crate::progress::ProgressDisplay;
use crate::terminal::say;

/// The wait before the first check why a job is queued. Most jobs start sooner.
const FIRST_CHECK_DELAY: Duration = Duration::from_millis(300);
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// The result of following a job.
pub(crate) enum Followed {
    /// The job ended, possibly because the user cancelled it.
    Ended {
        job: Box<Job>,
        was_interrupted: bool,
    },
    /// The user did not wait for the end of the cancellation.
    Left,
}

/// Follows a job to its end. The first Ctrl-C cancels the job, the second one stops waiting.
pub(crate) async fn follow(
    client: &Client,
    job: &Job,
    interrupt: &mut Signal,
) -> anyhow::Result<Followed> {
    let id = job.id;
    let mut was_interrupted = false;
    {
        let mut watching = pin!(watch(client, job));
        loop {
            tokio::select! {
                watched = &mut watching => break watched?,
                _ = interrupt.recv() => {
                    if was_interrupted {
                        say(&format!("{id} is being cancelled"));
                        return Ok(Followed::Left);
                    }
                    was_interrupted = true;
                    client.cancel(id).await?;
                }
            }
        }
    }
    let job = Box::new(client.job(id).await?);
    Ok(Followed::Ended {
        job,
        was_interrupted,
    })
}

/// Shows the progress of a job until it ends, and asks about its pending approvals.
pub(crate) async fn watch(client: &Client, job: &Job) -> anyhow::Result<()> {
    let progress = ProgressDisplay::new();
    let turning = progress.turning();
    tokio::select! {
        watched = watch_with(client, job, progress) => watched,
        never = turning => match never {},
    }
}

async fn watch_with(
    client: &Client,
    job: &Job,
    mut progress: ProgressDisplay,
) -> anyhow::Result<()> {
    let mut prompt = ApprovalPrompt::new(client, job.id);
    let mut events = client.follow(job.id);
    let mut is_queued = job.status == Status::Queued;
    let mut check = pin!(why_queued(client, job, FIRST_CHECK_DELAY));
    if let Some(place) = &job.queue {
        progress.queued(place);
    }
    loop {
        tokio::select! {
            event = events.next() => {
                let Some(event) = event? else { return Ok(()) };
                match event.kind.as_str() {
                    "job.started" => is_queued = false,
                    "job.retrying" | "job.resumed" => is_queued = true,
                    _ => {}
                }
                progress.show(&event);
                prompt.hear(&event, &mut progress).await?;
            }
            place = &mut check, if is_queued => {
                if let Some(place) = place {
                    progress.queued(&place);
                }
                check.set(why_queued(client, job, CHECK_INTERVAL));
            }
            // Only reading the line can be cancelled here. The answer is sent in the handler, which is not cancelled.
            line = prompt.line() => prompt.answer(line?, &mut progress).await?,
        }
    }
}

/// Waits, then asks the service why the job does not run. Errors are ignored, because the event stream reports them
/// too.
async fn why_queued(client: &Client, job: &Job, wait: Duration) -> Option<QueuePlace> {
    sleep(wait).await;
    client.job(job.id).await.ok()?.queue
}
