//! Example: uploads a file, submits a job, follows it, approves its command and downloads a page of prices.
//!
//! `SKILLET_URL=http://127.0.0.1:8420 SKILLET_API_KEY=sk_… cargo run --example report [FOLDER]`
#![allow(clippy::print_stdout)]

use std::env;

use skillet_client::types::event::EventData;
use skillet_client::{Client, Error, NewJob};

const PROMPT: &str = "Make a page of the prices.
```bash
{ echo '<!doctype html><h1>Prices</h1><pre>'; sort prices.csv; echo '</pre>'; } > prices.html && echo done
```
output: prices.html
";

#[tokio::main]
async fn main() -> Result<(), Error> {
    let folder = env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let client = Client::from_env()?;
    let mut job = NewJob::skill("html", PROMPT)
        .model("script/bash")
        .file(("prices.csv", "rye,3\nspelt,4\n"));
    // Every command waits for approval. This program approves it.
    job.hooks.confirm = vec!["shell.exec".to_owned()];
    let job = client.submit(job).await?;
    println!("submitted {}", job.id);

    let mut events = client.follow(job.id);
    while let Some(event) = events.next().await? {
        println!("{} {}", event.seq, event.kind);
        match event.parse() {
            Ok(EventData::ApprovalRequested(request)) => {
                println!("approving {}", request.input["command"]);
                client.approve(request.approval_id, None).await?;
            }
            Ok(EventData::JobFailed(job)) => return Err(Error::JobFailed(job)),
            Ok(EventData::JobCompleted(job)) => {
                for output in &job.result.outputs {
                    let path = client.download(&output.asset, &folder).await?;
                    println!("saved {}", path.display());
                }
            }
            _ => {}
        }
    }
    Ok(())
}
