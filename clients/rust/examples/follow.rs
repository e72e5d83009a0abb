//! Example from the README: a job that is submitted, followed and approved.
#![allow(clippy::print_stdout)]

use skillet_client::types::event::EventData;
use skillet_client::{Client, Error, NewJob};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let client = Client::from_env()?;
    let mut job = NewJob::skill("shell", "```bash\nrm -rf build\n```").model("script/bash");
    job.hooks.confirm = vec!["shell.exec".to_owned()];
    let job = client.submit(job).await?;

    let mut events = client.follow(job.id);
    while let Some(event) = events.next().await? {
        match event.parse() {
            Ok(EventData::ApprovalRequested(request)) => {
                // Or: client.deny(request.approval_id, Some("Only build/tmp, please."))
                client.approve(request.approval_id, None).await?;
            }
            Ok(EventData::ToolCompleted(call)) => println!("{}", call.outcome.as_str()),
            Ok(EventData::JobCompleted(job)) => println!("{}", job.status.as_str()),
            // Also a type that a later version of the service added.
            _ => println!("{} {}", event.seq, event.kind),
        }
    }
    Ok(())
}
