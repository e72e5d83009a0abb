//! Example from the README: a job that runs to its end.
#![allow(clippy::print_stdout)]

use skillet_client::{Client, Error, NewJob};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let client = Client::from_env()?;
    let prompt = "Make a page.\n```bash\n\
        (echo '<!doctype html><pre>'; cat notes.txt) > page.html\n\
        ```\noutput: page.html";
    let job = NewJob::skill("html", prompt)
        .model("script/bash")
        .file(("notes.txt", "Hello"));
    let run = client
        .run(job)
        .on_progress(|it| println!("{}: {} of {} bytes", it.name, it.sent, it.total));
    match run.await {
        Ok(job) => {
            for output in &job.result.outputs {
                let path = client.download(&output.asset, ".").await?;
                println!("saved {}", path.display());
            }
        }
        Err(Error::JobFailed(job)) => println!("{} failed: {:?}", job.id, job.result.error),
        Err(error) => return Err(error),
    }
    Ok(())
}
