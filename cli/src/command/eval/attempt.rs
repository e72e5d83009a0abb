//! A model's attempt at a task: the job, the checks and the pictures of its files.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use shared::job::{Job, Output, Status};
use skillet_client::{Client, Error, InputFile, JobLimits, NewJob};

use super::check_script::{self, CheckResult};
use super::picture;
use super::report_file::ReportFile;
use super::task::{Task, is_like};

/// The model that runs the solutions of tasks.
const SCRIPT: &str = "script/bash";
/// The approval timeout of a job. Nobody answers approvals during an evaluation.
const APPROVAL_SECONDS: u32 = 60;

/// Runs tasks.
pub(super) struct Runner<'a> {
    pub(super) client: &'a Client,
    /// The models. If empty, the service selects the model.
    pub(super) models: Vec<String>,
    /// The names of the tenant's secrets.
    pub(super) secrets: BTreeSet<String>,
    /// Whether documents are rendered as pictures.
    pub(super) draws: bool,
}

/// The result of a task.
pub(super) struct Attempt<'a> {
    pub(super) task: &'a Task,
    pub(super) verdict: Verdict,
    /// The job, or `None` if the task was skipped or rejected.
    pub(super) job: Option<Job>,
    pub(super) checks: Vec<CheckResult>,
    pub(super) files: Vec<ReportFile>,
}

pub(super) enum Verdict {
    Passed,
    Failed { reasons: Vec<String> },
    Skipped { reason: String },
}

impl Verdict {
    pub(super) fn is_failure(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }
}

/// The names of the tenant's secrets.
pub(super) async fn secrets(client: &Client) -> anyhow::Result<BTreeSet<String>> {
    let secrets: Vec<Value> = client.list("/v1/secrets", &[], None).await?;
    let names = secrets.iter().filter_map(|secret| secret["name"].as_str());
    Ok(names.map(str::to_owned).collect())
}

impl Runner<'_> {
    /// Runs a task. A failure of the service is an error. A failure of the model is a verdict.
    pub(super) async fn run<'t>(&self, task: &'t Task) -> anyhow::Result<Attempt<'t>> {
        let mut attempt = Attempt {
            task,
            verdict: Verdict::Passed,
            job: None,
            checks: Vec::new(),
            files: Vec::new(),
        };
        if let Some(reason) = self.reason_to_skip(task) {
            attempt.verdict = Verdict::Skipped { reason };
            return Ok(attempt);
        }
        let inputs = match self.inputs(task).await? {
            Ok(inputs) => inputs,
            Err(reason) => return Ok(attempt.failed(vec![reason])),
        };
        let job = match self.submit(self.job(task, &inputs)).await? {
            Ok(job) => job,
            Err(reason) => return Ok(attempt.failed(vec![reason])),
        };
        let reasons = reasons(task, &job);
        attempt.checks = self.check(task, &job, &inputs).await?;
        attempt.files = self.files(&job).await?;
        attempt.job = Some(job);
        let failed = attempt.checks.iter().filter(|check| !check.passed);
        let failed = failed.map(|check| {
            let output = check.output.trim().lines().last().unwrap_or_default();
            format!("{}: {output}", check.name)
        });
        let reasons: Vec<_> = reasons.into_iter().chain(failed).collect();
        Ok(if reasons.is_empty() {
            attempt
        } else {
            attempt.failed(reasons)
        })
    }

    fn is_scripted(&self) -> bool {
        self.models == [SCRIPT]
    }

    fn reason_to_skip(&self, task: &Task) -> Option<String> {
        let missing = task
            .secrets
            .iter()
            .find(|name| !self.secrets.contains(*name));
        if let Some(name) = missing {
            return Some(format!("the secret {name} is not set"));
        }
        (self.is_scripted() && task.solution.is_none())
            .then(|| "the task has no solution".to_owned())
    }

    /// Collects the input files: texts, local files, and files that commands create.
    async fn inputs(
        &self,
        task: &Task,
    ) -> anyhow::Result<Result<Vec<(String, InputFile)>, String>> {
        let texts = task.inputs.iter();
        let texts =
            texts.map(|(name, text)| (name.clone(), (name.as_str(), text.as_bytes()).into()));
        let paths = task.files.iter().map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            (name.into_owned(), path.as_path().into())
        });
        let mut inputs: Vec<(String, InputFile)> = texts.chain(paths).collect();
        let Some(preparation) = &task.prepare else {
            return Ok(Ok(inputs));
        };
        let outputs = preparation
            .makes
            .iter()
            .map(|name| format!("output: {name}\n"));
        let outputs: String = outputs.collect();
        let prompt = format!("```bash\nset -e\n{}\n```\n\n{outputs}", preparation.run);
        let job = self.tool_job(task, "prepare", prompt);
        let job = match self.submit(with_files(job, &inputs)).await? {
            Ok(job) => job,
            Err(reason) => return Ok(Err(format!("the input files were not created: {reason}"))),
        };
        if job.result.outputs.len() != preparation.makes.len() {
            let text = job.result.text.unwrap_or_default();
            return Ok(Err(format!("the input files were not created: {text}")));
        }
        let made = job.result.outputs.iter();
        inputs.extend(made.map(|it| (it.asset.name.clone(), it.asset.id.into())));
        Ok(Ok(inputs))
    }

    fn job(&self, task: &Task, inputs: &[(String, InputFile)]) -> NewJob {
        let solution = task.solution.as_ref().filter(|_| self.is_scripted());
        let job = NewJob {
            title: Some(format!("eval {}", task.name)),
            models: self.models.clone(),
            parameters: task.parameters.clone(),
            output_schema: task.schema.clone(),
            limits: JobLimits {
                timeout_seconds: task.timeout_seconds,
                approval_timeout_seconds: Some(APPROVAL_SECONDS),
                ..JobLimits::default()
            },
            ..NewJob::skill(&task.skill, solution.unwrap_or(&task.prompt))
        };
        with_files(job, inputs)
    }

    /// A helper job for a task, which runs in the sandbox of the checks.
    fn tool_job(&self, task: &Task, what: &str, prompt: String) -> NewJob {
        let skill = task.check_skill();
        let parameters = if skill == task.skill {
            task.parameters.clone()
        } else {
            serde_json::Map::new()
        };
        NewJob {
            title: Some(format!("eval {}, {what}", task.name)),
            parameters,
            ..NewJob::skill(skill, prompt).model(SCRIPT)
        }
    }

    /// Runs a job to its end. If the service rejects the request, the task fails with the reason.
    async fn submit(&self, job: NewJob) -> anyhow::Result<Result<Job, String>> {
        match self.client.run(job).await {
            Ok(job) => Ok(Ok(job)),
            Err(Error::JobFailed(job)) => Ok(Ok(*job)),
            Err(Error::Service(refusal)) if (400..500).contains(&refusal.status) => {
                Ok(Err(refusal.to_string()))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn check(
        &self,
        task: &Task,
        job: &Job,
        inputs: &[(String, InputFile)],
    ) -> anyhow::Result<Vec<CheckResult>> {
        if task.checks.is_empty() {
            return Ok(Vec::new());
        }
        let answer = job.result.text.clone().unwrap_or_default();
        let result = job.result.result.clone().unwrap_or_default();
        let own = [
            ("answer.txt", answer.into_bytes()),
            ("result.json", serde_json::to_vec_pretty(&result)?),
        ];
        let outputs: Vec<_> = names(&job.result.outputs);
        let input_names: Vec<_> = inputs.iter().map(|(name, _)| name.clone()).collect();
        let delimiter = format!("END_OF_CHECK_{}", job.id);
        let script = check_script::script(&task.checks, &outputs, &input_names, &delimiter);
        let mut checking = self.tool_job(task, "checks", format!("```bash\n{script}```\n"));
        // Outputs come first, because a second file with the same name is renamed.
        let made = job.result.outputs.iter();
        checking.files = made.map(|it| it.asset.id.into()).collect();
        checking
            .files
            .extend(own.map(|(name, content)| (name, content).into()));
        checking = with_files(checking, inputs);
        let printed = match self.submit(checking).await? {
            Ok(job) => job.result.text.unwrap_or_default(),
            Err(reason) => reason,
        };
        let decode = |text: &str| {
            let bytes = STANDARD.decode(text).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Ok(check_script::results(&task.checks, &printed, decode))
    }

    /// The files of the job for the report.
    async fn files(&self, job: &Job) -> anyhow::Result<Vec<ReportFile>> {
        let outputs = &job.result.outputs;
        let is_drawn = |output: &&Output| {
            self.draws && picture::is_needed(&output.asset.content_type, &output.asset.name)
        };
        let drawn: Vec<_> = outputs.iter().filter(is_drawn).collect();
        let mut pictures = Vec::new();
        if !drawn.is_empty() {
            let names: Vec<_> = drawn.iter().map(|it| it.asset.name.as_str()).collect();
            let mut drawing = NewJob::skill("shell", picture::prompt(&names)).model(SCRIPT);
            drawing.title = Some("eval, pictures".to_owned());
            drawing.files = drawn.iter().map(|it| it.asset.id.into()).collect();
            // If no pictures can be made, the report contains only the files.
            if let Ok(made) = self.submit(drawing).await? {
                pictures = made.result.outputs;
            }
        }
        let mut files = Vec::new();
        for output in outputs {
            let place = drawn.iter().position(|it| it.asset.id == output.asset.id);
            let picture = place.map(|number| format!("picture-{number}.png"));
            let picture = picture.and_then(|name| pictures.iter().find(|it| it.asset.name == name));
            let picture = picture.map(|it| &it.asset);
            files.push(ReportFile::load(self.client, &output.asset, picture).await?);
        }
        Ok(files)
    }
}

impl Attempt<'_> {
    fn failed(self, reasons: Vec<String>) -> Self {
        Self {
            verdict: Verdict::Failed { reasons },
            ..self
        }
    }

    /// The attempt as JSON.
    pub(super) fn summary(&self) -> Value {
        let (verdict, reasons) = match &self.verdict {
            Verdict::Passed => ("passed", Vec::new()),
            Verdict::Failed { reasons } => ("failed", reasons.clone()),
            Verdict::Skipped { reason } => ("skipped", vec![reason.clone()]),
        };
        let job = self.job.as_ref();
        json!({
            "name": self.task.name,
            "skill": self.task.skill,
            "verdict": verdict,
            "reasons": reasons,
            "job_id": job.map(|job| job.id.to_string()),
            "duration_ms": job.and_then(|job| job.duration_ms),
            "usage": job.map(|job| job.result.usage),
        })
    }
}

/// The reasons for a failure that are known before any check has run.
fn reasons(task: &Task, job: &Job) -> Vec<String> {
    let mut reasons = Vec::new();
    if job.status != Status::Completed {
        let error = job.result.error.as_ref();
        let error = error.map_or_else(String::new, |error| format!(": {error}"));
        reasons.push(format!("the job is {}{error}", job.status.as_str()));
    }
    if let Some(stop) = job
        .result
        .stop_reason
        .filter(|stop| crate::exit::is_limit(*stop))
    {
        reasons.push(format!("the job was stopped by {}", stop.as_str()));
    }
    if task.schema.is_some() && job.result.result.is_none() {
        reasons.push("there is no structured result".to_owned());
    }
    let made = names(&job.result.outputs);
    for pattern in &task.outputs {
        if !made.iter().any(|name| is_like(pattern, name)) {
            reasons.push(format!("no output file matches {pattern}"));
        }
    }
    reasons
}

fn names(outputs: &[Output]) -> Vec<String> {
    outputs.iter().map(|it| it.asset.name.clone()).collect()
}

fn with_files(mut job: NewJob, files: &[(String, InputFile)]) -> NewJob {
    job.files.extend(files.iter().map(|(_, file)| file.clone()));
    job
}
