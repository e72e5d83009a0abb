//! `skillet run`.

use std::future::IntoFuture;
use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::Args;
use serde_json::Value;
use shared::id::ConversationId;
use shared::job::Job;
use shared::model_name::ModelName;
use skillet_client::{Client, JobLimits, NewJob};
use tokio::signal::unix::Signal;

use super::jobs::summary;
use crate::args::{ClientOptions, parse_id, parse_pair, parse_parameter};
use crate::complete;
use crate::config::Config;
use crate::download::{Existing, save_outputs};
use crate::exit::Exit;
use crate::follow::{Followed, follow};
use crate::queue_reason;
use crate::session::Session;
use crate::terminal::{print, print_foreign, say};

#[derive(Args)]
pub(crate) struct Run {
    /// The skill (see `skillet skills`). Omit it with --agent
    #[arg(value_name = "SKILL", add = complete::skills())]
    skill_or_prompt: String,
    /// The prompt. `-` reads it from standard input
    #[arg(required_unless_present = "agent", conflicts_with = "agent")]
    prompt: Option<String>,
    /// The agent to run instead of a skill (see `skillet agents`)
    #[arg(short, long, add = complete::agents())]
    agent: Option<String>,
    /// The conversation to continue, with --agent
    #[arg(short, long, value_name = "ID", value_parser = parse_id::<ConversationId>, add = complete::conversations())]
    conversation: Option<ConversationId>,
    /// The model, such as openai/gpt-5 or script/bash (see `skillet models`). Fallbacks follow after commas
    /// (repeatable) [default: the model of the agent, the skill or the service]
    #[arg(short, long, value_delimiter = ',', add = complete::models())]
    model: Vec<ModelName>,
    /// An input file or URL (repeatable)
    #[arg(short, long = "input", value_name = "FILE")]
    inputs: Vec<String>,
    /// The directory for the files of the job
    #[arg(short, long = "output", default_value = ".", value_name = "DIR")]
    output_dir: PathBuf,
    /// Overwrite existing files instead of choosing another name
    #[arg(long)]
    force: bool,
    /// Submit the job and print its id without waiting
    #[arg(short, long)]
    detach: bool,
    /// A parameter of the skill. The value is JSON, or else text (repeatable)
    #[arg(short, long = "param", value_name = "NAME=VALUE", value_parser = parse_parameter)]
    parameters: Vec<(String, Value)>,
    /// A file with the JSON Schema of the result. The result is printed as JSON
    #[arg(long, value_name = "FILE")]
    output_schema: Option<PathBuf>,
    /// The time limit of the job in seconds
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u32>,
    /// The maximum number of replies of the model
    #[arg(long, value_name = "N")]
    max_iterations: Option<u32>,
    /// The maximum number of tokens of a reply
    #[arg(long, value_name = "N")]
    max_tokens: Option<u32>,
    /// The title of the job in lists [default: the first line of the prompt]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Metadata to attach to the job and to search for (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair)]
    metadata: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) options: ClientOptions,
}

/// `skillet run`
pub(super) async fn run(options: &Run, config: &Config) -> anyhow::Result<Exit> {
    let job = options.job()?;
    let run = async |session: &Session, interrupt: &mut Signal| {
        ensure!(
            !(options.detach && session.is_own()),
            "--detach needs a service that keeps running: start one with `skillet up`"
        );
        options.run_in(&session.client, job, interrupt).await
    };
    Session::with_interrupt(&options.options.remote, config, &[], run).await
}

impl Run {
    async fn run_in(
        &self,
        client: &Client,
        job: NewJob,
        interrupt: &mut Signal,
    ) -> anyhow::Result<Exit> {
        let job = tokio::select! {
            job = client.submit(job).into_future() => job?,
            // Either no job was submitted, or its id is not known.
            _ = interrupt.recv() => return Ok(Exit::Interrupted),
        };
        if self.detach {
            // The response to the submission does not contain the reason why the job waits.
            return self.detached(&client.job(job.id).await?);
        }
        say(&format!("{} {}", job.id, job.status.as_str()));
        match follow(client, &job, interrupt).await? {
            Followed::Ended {
                job,
                was_interrupted,
            } => {
                let exit = self.finish(client, &job).await?;
                let is_cancelled = was_interrupted && exit == Exit::JobFailed;
                Ok(if is_cancelled {
                    Exit::Interrupted
                } else {
                    exit
                })
            }
            Followed::Left => Ok(Exit::Interrupted),
        }
    }

    fn detached(&self, job: &Job) -> anyhow::Result<Exit> {
        let id = job.id.to_string();
        self.options.output.one(&id, job, || print(&id))?;
        let place = job
            .queue
            .as_ref()
            .filter(|place| !queue_reason::is_ordinary(place));
        if let Some(place) = place {
            say(&format!("queued: {}", queue_reason::describe(place)));
        }
        Ok(Exit::Done)
    }

    /// Prints the result and saves the files.
    async fn finish(&self, client: &Client, job: &Job) -> anyhow::Result<Exit> {
        let text = || match (&job.result.result, &job.result.text) {
            (Some(result), _) => print_foreign(&serde_json::to_string_pretty(result)?),
            (None, Some(text)) => print_foreign(text),
            (None, None) => Ok(()),
        };
        let printed = self.options.output.one(&job.id.to_string(), job, text);
        let existing = Existing::overwrite_if(self.force);
        let outputs = &job.result.outputs;
        let saved = save_outputs(client, job.id, outputs, &self.output_dir, existing).await;
        say(&summary(job));
        for path in saved? {
            say(&format!("saved {}", path.display()));
        }
        // The files are saved even if standard output is closed.
        printed?;
        Ok(Exit::of(job))
    }

    fn output_schema(&self) -> anyhow::Result<Option<Value>> {
        let Some(path) = &self.output_schema else {
            return Ok(None);
        };
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let schema = serde_json::from_str(&text)
            .with_context(|| format!("{} is not JSON", path.display()))?;
        Ok(Some(schema))
    }

    fn job(&self) -> anyhow::Result<NewJob> {
        let first = &self.skill_or_prompt;
        let (skill, prompt) = match (&self.agent, &self.prompt) {
            (Some(_), _) => (None, first),
            (None, prompt) => {
                let prompt = prompt.as_ref().expect("clap wants it beside a skill");
                (Some(first.clone()), prompt)
            }
        };
        let prompt = if prompt == "-" {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text
        } else {
            prompt.clone()
        };
        let pairs = self.metadata.iter().cloned();
        Ok(NewJob {
            skill,
            agent: self.agent.clone(),
            conversation_id: self.conversation,
            title: self.title.clone(),
            prompt,
            models: self.model.iter().map(ModelName::to_string).collect(),
            files: self.inputs.iter().map(|it| it.as_str().into()).collect(),
            parameters: self.parameters.iter().cloned().collect(),
            output_schema: self.output_schema()?,
            limits: JobLimits {
                timeout_seconds: self.timeout,
                max_iterations: self.max_iterations,
                max_tokens: self.max_tokens,
                ..JobLimits::default()
            },
            metadata: pairs.map(|(name, value)| (name, value.into())).collect(),
            ..NewJob::default()
        })
    }
}
