//! Example from the README: milestones of all jobs.
#![allow(clippy::print_stdout)]

use skillet_client::{Client, Error, NewJob, TenantEvent};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let client = Client::from_env()?;
    let events = client.events().types(["job.completed", "job.failed"]);
    let mut events = events.metadata("shop", "Berlin");
    // The first item is the place where the stream begins.
    println!("begins at {}", events.next().await?.cursor);

    let mut job = NewJob::skill("shell", "```bash\necho baked\n```").model("script/bash");
    job.metadata.insert("shop".to_owned(), "Berlin".into());
    client.submit(job).await?;

    loop {
        // `client.events().after(cursor)` continues after this place, in any program.
        let TenantEvent { cursor, event } = events.next().await?;
        if let Some(event) = event {
            println!("{} {} at {cursor}", event.kind, event.job_id);
            return Ok(());
        }
    }
}
