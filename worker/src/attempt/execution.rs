//! The execution of an attempt: preparation, then the loop, within the time of the job.

use std::sync::Arc;
use std::time::{Duration, Instant};

use shared::db::claim::Claimed;
use shared::job::{JobError, JobErrorCode, LoopStop};
use shared::model_name::ModelName;
use shared::telemetry::trace::Span;
use tokio::time::timeout_at;
use worker_egress::Egress;
use worker_model::LanguageModel;
use worker_tool::mcp::Servers;
use worker_tool::{KeptBrowser, ToolContext};
use worker_workspace::{JobSecrets, Snapshots, Workspace};

use super::clock::AttemptClock;
use super::outcome::AttemptOutcome;
use super::prepare::{Prepared, prepare};
use super::signals::AttemptSignals;
use super::tools::{AttemptSnapshots, AttemptTools};
use crate::budget::{Budget, BudgetTerms, TenantReservations};
use crate::job_model::JobModel;
use crate::job_profile::JobProfile;
use crate::log::JobLog;
use crate::loop_error::LoopError;
use crate::open_models::{OpenModels, models_of};
use crate::ports::LoopPorts;
use crate::provider::GuardedModel;
use crate::run_loop::run_loop;
use crate::telemetry::CalledModel;
use crate::toolbox::{ToolRunner, Toolbox};
use crate::transcript::Transcript;
use crate::worker_context::WorkerContext;
use crate::wrap_up::WrapUp;

/// The execution of an attempt.
pub(super) struct Execution<'a> {
    pub(super) context: &'a WorkerContext,
    pub(super) claimed: &'a Claimed,
    pub(super) profile: &'a JobProfile,
    pub(super) log: &'a JobLog,
    pub(super) signals: &'a AttemptSignals,
    pub(super) span: &'a Span,
}

/// The loop's state at the end of an attempt.
pub(super) struct LoopState {
    pub(super) transcript: Transcript,
    pub(super) snapshots: Snapshots,
    /// Whether the job should have outputs.
    pub(super) declares_outputs: bool,
    /// The model that answered last.
    pub(super) model: ModelName,
}

impl Execution<'_> {
    /// Prepares the attempt and runs the loop. Returns the outcome, and the loop's state if the loop started.
    pub(super) async fn run(&self, clock: &AttemptClock) -> (AttemptOutcome, Option<LoopState>) {
        let limit = Duration::from_secs(self.claimed.request.limits.timeout_seconds.into());
        let deadline = clock.begun_at + limit.saturating_sub(self.claimed.spent);
        // Boxed, like the futures below. One-time steps should take no memory while the loop waits for the model.
        let preparing = Box::pin(self.prepare(deadline));
        let mut prepared = match self.signals.watch(preparing).await {
            Ok(Ok(prepared)) => prepared,
            Ok(Err(outcome)) => return (outcome, None),
            Err(interrupt) => return (interrupt.into(), None),
        };
        for entry in std::mem::take(&mut prepared.entries) {
            self.log.append(entry).await;
        }
        let stored = (&self.context.pool, self.claimed.lease);
        let job_model = JobModel::new(Some(stored), self.claimed.job.model.clone());
        let outcome = match self.budget_terms() {
            Ok(terms) => Box::pin(self.run_loop(terms, &mut prepared, &job_model, deadline)).await,
            Err(error) => AttemptOutcome::Failed(error),
        };
        remove(prepared.workspace).await;
        if prepared.transcript.has_kept_images {
            prepared.snapshots.note_kept();
        }
        let state = LoopState {
            transcript: prepared.transcript,
            snapshots: prepared.snapshots,
            declares_outputs: self.profile.declares_outputs(),
            model: job_model.current(),
        };
        (outcome, Some(state))
    }

    async fn prepare(&self, deadline: Instant) -> Result<Prepared, AttemptOutcome> {
        let preparing = prepare(self.context, self.claimed, self.profile, self.log);
        tokio::select! {
            prepared = timeout_at(deadline.into(), preparing) => match prepared {
                Ok(prepared) => prepared.map_err(AttemptOutcome::from),
                Err(_) => Err(self.timed_out()),
            },
            // The next attempt can repeat the preparation.
            () = self.signals.drain.cancelled() => Err(AttemptOutcome::Drained),
        }
    }

    fn budget_terms(&self) -> Result<BudgetTerms, JobError> {
        let limits = self.claimed.request.limits;
        BudgetTerms::new(&models_of(self.claimed), limits, &self.context.providers)
    }

    /// Runs the loop until it ends, times out, or is interrupted by a signal.
    async fn run_loop(
        &self,
        terms: BudgetTerms,
        prepared: &mut Prepared,
        job_model: &JobModel<'_>,
        deadline: Instant,
    ) -> AttemptOutcome {
        let tenant = TenantReservations::of(self.claimed, &self.context.pool);
        let budget = Budget::open(
            terms,
            self.log,
            Some(tenant),
            &self.signals.has_tenant_budget,
            &mut prepared.transcript,
        );
        let looping = Box::pin(self.loop_with_servers(&budget, prepared, job_model, deadline));
        let looping = timeout_at(deadline.into(), looping);
        let outcome = match self.signals.watch(looping).await {
            Ok(Ok(Ok(stop))) => AttemptOutcome::Stopped(stop),
            Ok(Ok(Err(error))) => error.into(),
            Ok(Err(_)) => self.timed_out(),
            Err(interrupt) => interrupt.into(),
        };
        prepared.transcript.progress.unconfirmed_usage = budget.unconfirmed_usage();
        outcome
    }

    /// Runs the loop while the MCP servers of the profile run.
    async fn loop_with_servers(
        &self,
        budget: &Budget<'_>,
        prepared: &mut Prepared,
        job_model: &JobModel<'_>,
        deadline: Instant,
    ) -> Result<LoopStop, LoopError> {
        let Prepared {
            workspace,
            secrets,
            egress,
            models,
            tools,
            system,
            transcript,
            snapshots,
            entries: _,
        } = prepared;
        let runner = ToolRunner {
            context: self.tool_context(workspace.clone(), secrets, egress.as_ref(), models.first()),
            deadline,
            span: self.span,
            meters: &self.context.meters,
        };
        let servers = self.start_servers(&runner.context, tools).await?;
        let mut snapshots = AttemptSnapshots {
            job: self.claimed.job.id,
            workspace,
            snapshots,
            log: self.log,
        };
        let guarded = self.guarded(models);
        let clients: Vec<_> = guarded.iter().map(|it| it as &dyn LanguageModel).collect();
        let called: Vec<_> = models.iter().map(CalledModel::from).collect();
        let mut ports = LoopPorts {
            job: self.claimed.job.id,
            models: &called,
            clients: &clients,
            job_model,
            tools: &AttemptTools { tools, runner },
            log: self.log,
            replies: &self.context.pool,
            workspace: &mut snapshots,
            budget,
            limits: self.claimed.request.limits,
            wrap_up: WrapUp::new(
                &self.claimed.request.limits,
                deadline,
                self.profile.delivers_files(),
            ),
            context_window: self.context_window(models),
            drain: &self.signals.drain,
            span: self.span,
            meters: &self.context.meters,
        };
        let stop = run_loop(&mut ports, system, transcript).await;
        if let Some(servers) = servers {
            servers.close().await;
        }
        stop
    }

    /// Returns the models, each limited by the quota of its provider.
    fn guarded<'a>(&'a self, models: &'a OpenModels) -> Vec<GuardedModel<'a>> {
        let last = models.iter().count() - 1;
        let guarded = models
            .iter()
            .enumerate()
            .map(|(place, model)| GuardedModel {
                inner: &*model.client,
                account: model.account.clone(),
                has_fallback: place < last,
                log: self.log,
            });
        guarded.collect()
    }

    /// Starts the MCP servers of the profile and adds their tools.
    async fn start_servers(
        &self,
        context: &ToolContext<'_>,
        tools: &mut Toolbox,
    ) -> Result<Option<Servers>, LoopError> {
        let declared = &self.profile.mcp_servers;
        if declared.is_empty() {
            return Ok(None);
        }
        let (servers, imported) = tokio::select! {
            started = Servers::start(declared, context) => started?,
            () = self.signals.drain.cancelled() => return Err(LoopError::Drained),
        };
        for (tool, schema) in imported {
            tools.add(Box::new(tool), schema, &self.profile.hooks);
        }
        Ok(Some(servers))
    }

    fn tool_context<'a>(
        &'a self,
        workspace: Arc<Workspace>,
        secrets: &'a JobSecrets,
        egress: Option<&'a Arc<Egress>>,
        model: &'a dyn LanguageModel,
    ) -> ToolContext<'a> {
        let (context, profile) = (self.context, self.profile);
        ToolContext {
            job: self.claimed.job.id,
            tenant: self.claimed.tenant,
            parameters: &self.claimed.request.parameters,
            workspace,
            sandbox: &context.sandbox,
            browser: KeptBrowser::default(),
            command_permits: &context.commands,
            egress,
            network: &profile.network,
            secrets,
            web: &context.web,
            model,
            events: self.log,
            assets: &context.assets,
            pool: &context.pool,
            has_skill_files: profile.files().is_some(),
            has_programs: profile.has_programs(),
            command_timeout: profile.command_timeout,
            max_output_bytes: profile.max_output_bytes,
        }
    }

    /// Returns the smallest context window of the models. A window is configured, or learned from a provider's refusal.
    fn context_window(&self, models: &OpenModels) -> Option<u32> {
        let context = self.context;
        let windows = models.iter().filter_map(|model| {
            let configured = context.providers.context_window(&model.name);
            let name = model.name.to_string();
            configured.or_else(|| context.learned_limits.context_window(&name))
        });
        windows.min()
    }

    fn timed_out(&self) -> AttemptOutcome {
        let seconds = self.claimed.request.limits.timeout_seconds;
        let message = format!("the job took longer than {seconds} s");
        AttemptOutcome::Failed(JobErrorCode::Timeout.with(message))
    }
}

/// Removes a workspace, so that no file of the job is on this machine when the job is reported as ended.
async fn remove(workspace: Arc<Workspace>) {
    if !workspace.exists() {
        return;
    }
    workspace.job_directory().quiesce().await;
    if let Err(error) = tokio::task::spawn_blocking(move || drop(workspace)).await {
        tracing::error!(
            error = &error as &dyn std::error::Error,
            "removing a workspace panicked"
        );
    }
}
