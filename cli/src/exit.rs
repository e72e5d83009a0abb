//! Exit statuses.

use shared::job::{Job, JobErrorCode, LoopStop, Status};

/// The result of a command with valid arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command succeeded.
    Done,
    /// The command failed, and the reason has been printed.
    Failed,
    /// The job was stopped by one of its limits.
    LimitReached,
    /// The job failed or was cancelled.
    JobFailed,
    /// The user interrupted the command.
    Interrupted,
}

impl Exit {
    /// The exit status of the process. `docs/cli.md` lists them.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::LimitReached => 3,
            Self::JobFailed => 4,
            Self::Interrupted => 130,
        }
    }

    /// The result of a command that waited for the end of a job.
    pub(crate) fn of(job: &Job) -> Self {
        let error = job.result.error.as_ref().map(|error| error.code);
        if error == Some(JobErrorCode::Timeout) || job.result.stop_reason.is_some_and(is_limit) {
            Self::LimitReached
        } else if job.status == Status::Completed {
            Self::Done
        } else {
            Self::JobFailed
        }
    }
}

/// Whether a limit stopped the agent loop before the model had finished.
pub(crate) fn is_limit(stop: LoopStop) -> bool {
    match stop {
        LoopStop::EndTurn | LoopStop::Refusal => false,
        LoopStop::MaxTokens
        | LoopStop::ContextFull
        | LoopStop::MaxIterations
        | LoopStop::RepeatedCall
        | LoopStop::MaxTotalTokens
        | LoopStop::MaxCostUsd
        | LoopStop::TenantBudget => true,
    }
}
