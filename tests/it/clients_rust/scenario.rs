//! The scenario that all clients run: `clients/scenario.md`.

use std::path::Path;
use std::sync::Mutex;

use hex::ToHex;
use serde_json::Value;
use sha2::{Digest, Sha256};
use shared::event::{Event, EventData};
use shared::job::Job;
use skillet_client::{Client, Error, NewJob, TenantEvents};

use super::client_of;
use crate::support::Service;

/// The transcript of a client.
struct Transcript<'a> {
    client: &'a Client,
    script: &'a Value,
    /// The value of `scenario` in the metadata of its jobs.
    scenario: String,
    lines: Mutex<Vec<String>>,
}

impl Transcript<'_> {
    fn job(&self, name: &str) -> NewJob {
        let mut job: NewJob = serde_json::from_value(self.script[name].clone()).unwrap();
        let scenario = self.scenario.as_str().into();
        job.metadata.insert("scenario".to_owned(), scenario);
        job
    }

    /// Returns the stream of the scenario's milestones.
    fn events(&self) -> TenantEvents {
        let types = self.script["milestones"].as_array().unwrap();
        let events = self.client.events().metadata("scenario", &self.scenario);
        events.types(types.iter().map(|name| name.as_str().unwrap()))
    }

    fn write(&self, line: String) {
        self.lines.lock().unwrap().push(line);
    }

    fn note_end(&self, job: &Job) {
        let text = job.result.text.as_deref().unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        self.write(format!("ended {} {first}", job.status.as_str()));
    }

    /// Writes an event to the transcript, and answers a request for approval.
    async fn take(&self, event: &Event, approves: bool) {
        let omitted = self.script["omit"].as_array().unwrap();
        if !omitted.iter().any(|it| *it == event.kind.as_str()) {
            self.write(format!("event {}", event.kind));
        }
        let Ok(EventData::ApprovalRequested(request)) = event.parse() else {
            return;
        };
        let (verb, answered) = if approves {
            let answered = self.client.approve(request.approval_id, None).await;
            ("approve", answered)
        } else {
            let denial = self.script["denial"].as_str();
            let answered = self.client.deny(request.approval_id, denial).await;
            ("deny", answered)
        };
        answered.unwrap();
        self.write(format!("{verb} {}", request.tool));
    }

    async fn play(&self, folder: &Path) {
        let client = self.client;
        let start = self.events().next().await.unwrap().cursor;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let upload = &self.script["upload"];
        let file = (text(&upload["name"]), text(&upload["content"]));
        let asset = client.upload(file).await.unwrap();
        self.write(format!(
            "uploaded {} {} {}",
            asset.name, asset.size, asset.sha256
        ));
        let job = self.job("report").file(&asset);
        let job = client.submit(job).await.unwrap();
        let mut following = client.follow(job.id);
        while let Some(event) = following.next().await.unwrap() {
            self.take(&event, true).await;
        }
        let job = client.job(job.id).await.unwrap();
        self.note_end(&job);
        for output in &job.result.outputs {
            let path = client.download(&output.asset, folder).await.unwrap();
            let content = std::fs::read(&path).unwrap();
            let digest: String = Sha256::digest(&content).encode_hex();
            let name = path.file_name().unwrap().to_str().unwrap();
            self.write(format!("downloaded {name} {} {digest}", content.len()));
        }
        let run = client.run(self.job("denied"));
        let job = run.on_event(|event| async move { self.take(&event, false).await });
        let job = job.await.unwrap();
        self.note_end(&job);
        let Err(Error::JobFailed(job)) = client.run(self.job("failed")).await else {
            panic!("the job does not fail");
        };
        let code = job.result.error.unwrap().code.as_str();
        self.write(format!("raised {} {code}", job.status.as_str()));
        let mut events = self.events().after(start);
        let mut has_failed = false;
        while !has_failed {
            let Some(event) = events.next().await.unwrap().event else {
                continue;
            };
            self.write(format!(
                "milestone {} {}",
                event.kind,
                event.status.as_str()
            ));
            has_failed = event.kind == "job.failed";
        }
    }
}

#[tokio::test]
async fn the_transcript_is_that_of_all_clients() {
    let service = Service::start().await;
    let script: Value =
        serde_json::from_str(include_str!("../../../clients/scenario.json")).unwrap();
    let client = client_of(&service, &service.url);
    let transcript = Transcript {
        client: &client,
        script: &script,
        scenario: "rust".to_owned(),
        lines: Mutex::default(),
    };
    let folder = tempfile::tempdir().unwrap();
    transcript.play(folder.path()).await;
    let expected: Vec<String> = serde_json::from_value(script["transcript"].clone()).unwrap();
    assert_eq!(transcript.lines.into_inner().unwrap(), expected);
}
