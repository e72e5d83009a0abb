//! Scripted ports of the loop, for tests without a database, a process or a sandbox.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, FutureExt, ready};
use futures_util::stream::{self, BoxStream, StreamExt};
use serde_json::{Value, json};
use shared::db;
use shared::event::EventData;
use shared::id::JobId;
use shared::job::LoopStop;
use shared::limits::Limits;
use shared::message::{AssistantMessage, Block, StopReason, Tokens, ToolCall};
use shared::telemetry::metrics::Metrics;
use shared::telemetry::trace::Span;
use tokio_util::sync::CancellationToken;
use worker_model::{LanguageModel, ModelError, ModelEvent, ModelRequest, Part, ToolSpec};
use worker_tool::{EventSink, LeaseLost};
use worker_workspace::Redactor;

use super::run_loop;
use crate::budget::{Budget, BudgetTerms, ModelPrices};
use crate::job_model::JobModel;
use crate::loop_error::LoopError;
use crate::ports::{LoopPorts, LoopTools, ReplyIndex, WorkspaceSaver};
use crate::telemetry::{CalledModel, WorkerMeters};
use crate::transcript::Transcript;
use crate::wrap_up::WrapUp;

const HOUR: Duration = Duration::from_secs(3600);

/// One answer of the scripted model.
pub(super) enum Scripted {
    Reply(AssistantMessage),
    Error(ModelError),
    /// The model starts a reply that never ends, and the worker starts to drain.
    SilenceAndDrain,
}

/// A loop with scripted ports.
pub(super) struct ScriptedLoop {
    pub(super) model: ScriptedModel,
    pub(super) tools: ScriptedTools,
    pub(super) log: MemoryLog,
    pub(super) workspace: MemoryWorkspace,
    pub(super) limits: Limits,
    pub(super) context_window: Option<u32>,
    pub(super) transcript: Transcript,
    pub(super) job: JobId,
}

pub(super) struct ScriptedModel {
    answers: Mutex<VecDeque<Scripted>>,
    /// The number of messages and the cap of each request.
    pub(super) requests: Mutex<Vec<(usize, u32)>>,
    drain: CancellationToken,
}

/// Tools that answer every call with `done`.
pub(super) struct ScriptedTools {
    pub(super) ran: Mutex<Vec<String>>,
    /// The tool whose calls need an approval.
    pub(super) needs_approval: Option<&'static str>,
    /// Whether the worker starts to drain while the first call runs.
    pub(super) drains: bool,
    /// Whether the lease turns out to be lost at the first call.
    pub(super) loses_lease: bool,
    drain: CancellationToken,
}

#[derive(Default)]
pub(super) struct MemoryLog {
    events: Mutex<Vec<EventData>>,
}

pub(super) struct MemoryWorkspace {
    pub(super) saves: u32,
    pub(super) works: bool,
}

/// An index in which every reply is the tenth event of its job.
struct TenthEvent;

impl ScriptedLoop {
    pub(super) fn new(answers: impl IntoIterator<Item = Scripted>) -> Self {
        let drain = CancellationToken::new();
        let job = JobId::new();
        let mut transcript = Transcript::new(false);
        transcript.begin(job, vec![Part::Text("go".to_owned())]);
        Self {
            model: ScriptedModel {
                answers: Mutex::new(answers.into_iter().collect()),
                requests: Mutex::default(),
                drain: drain.clone(),
            },
            tools: ScriptedTools {
                ran: Mutex::default(),
                needs_approval: None,
                drains: false,
                loses_lease: false,
                drain,
            },
            log: MemoryLog::default(),
            workspace: MemoryWorkspace {
                saves: 0,
                works: true,
            },
            limits: Limits::DEFAULT,
            context_window: None,
            transcript,
            job,
        }
    }

    pub(super) async fn run(&mut self) -> Result<LoopStop, LoopError> {
        let terms = BudgetTerms {
            limits: self.limits,
            prices: ModelPrices::default(),
            is_real: true,
            window: self.context_window,
        };
        let has_tenant_budget = AtomicBool::new(false);
        let transcript = &mut self.transcript;
        let budget = Budget::open(terms, &self.log, None, &has_tenant_budget, transcript);
        let name = "test/model".parse().unwrap();
        let mut ports = LoopPorts {
            job: self.job,
            models: &[CalledModel {
                name: &name,
                server: None,
            }],
            clients: &[&self.model],
            job_model: &JobModel::new(None, name.clone()),
            tools: &self.tools,
            log: &self.log,
            replies: &TenthEvent,
            workspace: &mut self.workspace,
            budget: &budget,
            limits: self.limits,
            wrap_up: WrapUp::new(&self.limits, Instant::now() + HOUR, false),
            context_window: self.context_window,
            drain: &self.tools.drain,
            span: &Span::default(),
            meters: &WorkerMeters::new(&Metrics::default()),
        };
        run_loop(&mut ports, "Be brief.", transcript).await
    }

    /// Returns the types of the events in the log, joined by spaces.
    pub(super) fn logged(&self) -> String {
        let events = lock(&self.log.events);
        let kinds = events.iter().map(|event| event.to_stored().0.to_owned());
        kinds.collect::<Vec<_>>().join(" ")
    }

    pub(super) fn requests(&self) -> Vec<(usize, u32)> {
        lock(&self.model.requests).clone()
    }

    pub(super) fn ran(&self) -> Vec<String> {
        lock(&self.tools.ran).clone()
    }
}

impl LanguageModel for ScriptedModel {
    fn constrains_output(&self, _: &Value) -> bool {
        true
    }

    fn stream<'a>(
        &'a self,
        request: ModelRequest<'a>,
    ) -> BoxStream<'a, Result<ModelEvent, ModelError>> {
        lock(&self.requests).push((request.messages.len(), request.max_tokens));
        let answer = lock(&self.answers).pop_front();
        match answer.expect("the loop asks no more often than the script says") {
            Scripted::Reply(reply) => {
                let text = ModelEvent::Text(reply.text());
                stream::iter([Ok(text), Ok(ModelEvent::Completed(reply))]).boxed()
            }
            Scripted::Error(error) => stream::iter([Err(error)]).boxed(),
            Scripted::SilenceAndDrain => {
                self.drain.cancel();
                stream::pending().boxed()
            }
        }
    }
}

impl LoopTools for ScriptedTools {
    fn specs(&self) -> Vec<Arc<ToolSpec>> {
        Vec::new()
    }

    fn unapproved(&self, transcript: &Transcript) -> Vec<ToolCall> {
        let needs_approval = |call: &&ToolCall| Some(call.tool.as_str()) == self.needs_approval;
        match transcript.next_call().filter(needs_approval) {
            Some(_) => transcript
                .open_calls()
                .filter(needs_approval)
                .cloned()
                .collect(),
            None => Vec::new(),
        }
    }

    fn run_next<'b>(
        &'b self,
        transcript: &'b mut Transcript,
    ) -> BoxFuture<'b, Result<(), LoopError>> {
        if self.loses_lease {
            return ready(Err(LeaseLost.into())).boxed();
        }
        if self.drains {
            self.drain.cancel();
        }
        let call = transcript.next_call().expect("there is a call");
        lock(&self.ran).push(call.tool.clone());
        transcript.add_result("done".to_owned(), false);
        ready(Ok(())).boxed()
    }
}

impl EventSink for MemoryLog {
    fn append(&self, event: EventData) -> BoxFuture<'_, ()> {
        lock(&self.events).push(event);
        ready(()).boxed()
    }

    fn commit(&self, event: EventData) -> BoxFuture<'_, Result<(), LeaseLost>> {
        lock(&self.events).push(event);
        ready(Ok(())).boxed()
    }

    fn redactor(&self) -> Option<Arc<Redactor>> {
        None
    }
}

impl WorkspaceSaver for MemoryWorkspace {
    fn save(&mut self) -> BoxFuture<'_, bool> {
        self.saves += 1;
        ready(self.works).boxed()
    }
}

impl ReplyIndex for TenthEvent {
    fn seq_from_end(&self, _: JobId, _: usize) -> BoxFuture<'_, db::Result<Option<i64>>> {
        ready(Ok(Some(10))).boxed()
    }
}

/// Returns a reply with text, and a call of each of these tools.
pub(super) fn reply(text: &str, tools: &[&str]) -> Scripted {
    Scripted::Reply(message(text, tools, StopReason::EndTurn))
}

/// Returns a reply with the given stop reason.
pub(super) fn message(text: &str, tools: &[&str], stop_reason: StopReason) -> AssistantMessage {
    let mut content = vec![Block::Text {
        text: text.to_owned(),
    }];
    content.extend(tools.iter().enumerate().map(|(number, tool)| {
        Block::ToolCall(ToolCall {
            call_id: format!("call-{number}"),
            tool: (*tool).to_owned(),
            input: json!({}),
            malformed: None,
        })
    }));
    AssistantMessage {
        content,
        stop_reason,
        usage: Tokens {
            input_tokens: 100,
            output_tokens: 10,
            ..Tokens::default()
        },
        model: "test/model".to_owned(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
