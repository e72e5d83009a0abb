//! Example from the README: operations by method and path.
#![allow(clippy::print_stdout)]

use skillet_client::types::job::Job;
use skillet_client::{Client, Error, NewJob};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let client = Client::from_env()?;
    let query = [("status", "completed".to_owned())];
    let jobs: Vec<Job> = client.list("/v1/jobs", &query, Some(5)).await?;
    for job in jobs {
        println!("{} {}", job.id, job.title);
    }

    match client.submit(NewJob::skill("no-such-skill", "Hello")).await {
        Err(Error::Service(refusal)) => println!("{} {refusal}", refusal.status),
        other => println!("{}", other?.id),
    }
    Ok(())
}
