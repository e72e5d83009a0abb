use anyhow::Context;
use serde_json::{Value, json};
use shared::job::{Job, Status};
use tokio::signal::unix::Signal;

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
    /// How many files it makes.
    outputs: usize,
}

const STEPS: [Step; 3] = [
    Step {
        skill: "shell",
        what: "Summing up two years of sales",
        prompt: include_str!("../demo/shell.md"),
        outputs: 0,
    },
    Step {
        skill: "image",
        what: "Drawing the sales as a chart",
        prompt: include_str!("../demo/image.md"),
        outputs: 1,
    },
    Step {
        skill: "html",
        what: "Writing a report as a page",
        prompt: include_str!("../demo/html.md"),
        outputs: 1,
    },
];

const INPUTS: [(&str, &[u8]); 2] = [
    ("bakery.csv", include_bytes!("../../../examples/bakery.csv")),
    ("notes.txt", include_bytes!("../../../examples/notes.txt")),
];

const NEXT: &str = "
Next, with a real model (OPENAI_API_KEY and -m openai/gpt-5 do as well):
   export ANTHROPIC_API_KEY=…
   skillet run image \"Draw the bread as a line chart\" -i examples/bakery.csv -m anthropic/claude-sonnet-4-5
Or as a service, with its API at http://127.0.0.1:8420/docs:
   skillet up";

/// `skillet demo`
pub(super) async fn demo(options: &Demo, config: &Config) -> anyhow::Result<Exit> {
    print(
        "Skillet demo: three real jobs. The model is script/bash, which needs no key: it runs the commands",
    );
    print(
        "that stand in the prompt. All else is the real thing: database, queue, worker, workspace, files.\n",
    );
    let run =
        async |client: &Client, interrupt: &mut Signal| run_all(client, options, interrupt).await;
    Session::with_interrupt(&options.remote, config, run).await
}

async fn run_all(client: &Client, options: &Demo, interrupt: &mut Signal) -> anyhow::Result<Exit> {
    let mut saved = Vec::new();
    let mut all_done = true;
    for step in &STEPS {
        print(&format!("── {} (skill {})", step.what, step.skill));
        let skill: Value = client
            .get(&format!("/v1/skills/{}", step.skill), &[])
            .await?;
        if skill["available"] != true {
            print(&format!(
                "left out: this machine lacks {}\n",
                skill["missing"]
            ));
            continue;
        }
        let (job, was_interrupted) = run_step(client, step, interrupt).await?;
        if was_interrupted {
            return Ok(Exit::Interrupted);
        }
        print(&format!(
            "{}\n",
            job.result.text.as_deref().unwrap_or_default()
        ));
        if job.status == Status::Completed && job.result.outputs.len() == step.outputs {
            saved.extend(run::save(client, &job.result.outputs, &options.output_dir, true).await?);
        } else {
            let reason = job
                .result
                .error
                .map_or("it did not make its file".to_owned(), |error| error.message);
            print(&format!("the job {} failed: {reason}\n", job.id));
            all_done = false;
        }
    }
    print("── Done. What the jobs made:");
    for path in saved {
        let path = std::path::absolute(&path).context("the path of a saved file")?;
        print(&format!("   {}", path.display()));
    }
    print(NEXT);
    Ok(if all_done { Exit::Done } else { Exit::Failed })
}

async fn run_step(
    client: &Client,
    step: &Step,
    interrupt: &mut Signal,
) -> anyhow::Result<(Job, bool)> {
    let mut inputs = Vec::new();
    for (name, content) in INPUTS {
        inputs.push(json!({"asset_id": client.upload_bytes(name, content).await?.id}));
    }
    let body = json!({
        "skill": step.skill,
        "model": "script/bash",
        "prompt": step.prompt,
        "inputs": inputs,
        "limits": {"max_iterations": 50},
    });
    let job: Job = client.post("/v1/jobs", &body).await?;
    run::follow(client, job.id, interrupt).await
}
