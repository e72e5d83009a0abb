//! Example from the guide: a page with a sorted table.
#![allow(clippy::print_stdout)]

use skillet_client::{Client, Error, NewJob};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let client = Client::from_env()?;
    let prompt = "```bash\n{ echo '<!doctype html><pre>'; sort sales.csv; } > sales.html && echo done\n```\n\
        output: sales.html";
    let job = NewJob::skill("html", prompt)
        .model("script/bash")
        .file(("sales.csv", "spelt,4\nrye,3\n"));
    let job = client.run(job).await?;
    println!("{}", job.result.text.unwrap_or_default()); // done
    for output in &job.result.outputs {
        println!("{}", client.download(&output.asset, ".").await?.display()); // ./sales.html
    }
    Ok(())
}
