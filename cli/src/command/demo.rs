use anyhow::Context;
use serde_json::{Value, json};
use shared::job::{Job, Status};

use super::{print, run};
use crate::Exit;
use crate::args::Demo;
use crate::client::Client;
use crate::config::Config;
use crate::session::Session;

/// A job of the demo: a skill and the commands that `script/bash` runs for it.
struct Step {
    skill: &'static str,
    what: &'static str,
    prompt: &'static str,
}

const STEPS: [Step; 3] = [
    Step {
        skill: "shell",
        what: "Summing up a year of sales",
        prompt: include_str!("../demo/shell.md"),
    },
    Step {
        skill: "image",
        what: "Drawing the sales as a chart",
        prompt: include_str!("../demo/image.md"),
    },
    Step {
        skill: "html",
        what: "Writing a report as a page",
        prompt: include_str!("../demo/html.md"),
    },
];

const SALES: &[u8] = include_bytes!("../../../examples/sales.csv");

/// `skillet demo`
pub(super) async fn demo(options: &Demo, config: &Config) -> anyhow::Result<Exit> {
    print(
        "Skillet demo: three real jobs. The model is script/bash, which needs no key: it runs the commands",
    );
    print(
        "that stand in the prompt. All else is the real thing: database, queue, worker, workspace, files.\n",
    );
    let session = Session::open(&options.remote, config).await?;
    let ran = run_all(&session.client, options).await;
    session.close().await?;
    ran
}

async fn run_all(client: &Client, options: &Demo) -> anyhow::Result<Exit> {
    let mut saved = Vec::new();
    let mut exit = Exit::Done;
    for step in &STEPS {
        let skill: Value = client
            .get(&format!("/v1/skills/{}", step.skill), &[])
            .await?;
        print(&format!("── {} (skill {})", step.what, step.skill));
        if skill["available"] != true {
            print(&format!(
                "left out: this machine lacks {}\n",
                skill["missing"]
            ));
            continue;
        }
        let input = client.upload_bytes("sales.csv", SALES).await?;
        let body = json!({
            "skill": step.skill,
            "model": "script/bash",
            "prompt": step.prompt,
            "inputs": [{"asset_id": input.id}],
            "limits": {"max_iterations": 50},
        });
        let job: Job = client.post("/v1/jobs", &body).await?;
        let (job, _) = run::follow(client, job.id).await?;
        if job.status != Status::Completed {
            let reason = job
                .result
                .error
                .map_or("it was cancelled".to_owned(), |error| error.message);
            print(&format!("the job {} did not complete: {reason}\n", job.id));
            exit = Exit::Failed;
            continue;
        }
        print(&format!("{}\n", job.result.text.unwrap_or_default()));
        saved.extend(run::save(client, &job.result.outputs, &options.output_dir, true).await?);
    }
    print("── Done. What the jobs made:");
    for path in saved {
        let path = std::path::absolute(&path).context("the path of a saved file")?;
        print(&format!("   {}", path.display()));
    }
    print("\nNext, with a real model:");
    print("   export ANTHROPIC_API_KEY=…      # or OPENAI_API_KEY, with -m openai/gpt-5");
    print(
        "   skillet run image \"Draw these sales as a pie chart\" -i examples/sales.csv -m anthropic/claude-sonnet-4-5",
    );
    print(
        "   skillet up                      # the service, with its API at http://127.0.0.1:8420/docs",
    );
    Ok(exit)
}
