//! Codes of problems: part of the contract, each with a page that explains it.

use actix_web::http::StatusCode;

macro_rules! codes {
    ($($variant:ident = $name:literal, $status:ident, $title:literal, $meaning:literal, $remedy:literal;)*) => {
        /// What a problem is, for programs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ErrorCode {
            $(#[doc = $title] $variant,)*
        }

        impl ErrorCode {
            /// All codes.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name on the wire.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The status of its answers.
            pub fn status(self) -> StatusCode {
                match self {
                    $(Self::$variant => StatusCode::$status,)*
                }
            }

            /// Its title, what it means and what to do about it.
            pub(crate) fn explanation(self) -> [&'static str; 3] {
                match self {
                    $(Self::$variant => [$title, $meaning, $remedy],)*
                }
            }
        }
    };
}

codes! {
    MalformedRequest = "malformed_request", BAD_REQUEST, "Malformed request",
        "The body is not JSON, or a query parameter or a header has a value that it cannot have.",
        "Read `detail`, which names the parameter or the position, and correct the request.";
    Unauthorized = "unauthorized", UNAUTHORIZED, "No valid key",
        "The request has no API key, or one that this service does not know: mistyped, revoked, or of another service.",
        "Send a key as `Authorization: Bearer sk_…`. `skillet keys create` makes one.";
    Forbidden = "forbidden", FORBIDDEN, "Not allowed",
        "The key is valid and lacks the scope that the operation needs, or a short-lived token was used for something else than the job that it is for.",
        "Use a key with the scope that `detail` names.";
    CrossSite = "cross_site", FORBIDDEN, "Request from another site",
        "The request brought a session cookie, and the browser did not send it from a page of this service.",
        "Send an API key instead, or call the API from a page of the same origin. `--public-url` tells the service its origin.";
    OriginNotAllowed = "origin_not_allowed", FORBIDDEN, "Origin not allowed",
        "A page of another origin wants to call the API, and its origin is not on the service's list.",
        "Start the service with `--cors-origin` and that origin.";
    NotFound = "not_found", NOT_FOUND, "Not found",
        "There is nothing at this path, or it belongs to another tenant.",
        "Check the path and the id. An id begins with the kind of what it names, such as `job_`.";
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED, "Method not allowed",
        "The path exists and does not take this method.",
        "Use one of the methods in the header `Allow`.";
    BodyTooSlow = "body_too_slow", REQUEST_TIMEOUT, "Body too slow",
        "The body stalled, or came below the minimum rate.",
        "Send the request again over a better connection.";
    JobNotFinished = "job_not_finished", CONFLICT, "Job not finished",
        "The operation needs a job that has ended, and this one has not.",
        "Wait for its end, or cancel it.";
    JobNotQueued = "job_not_queued", CONFLICT, "Job not queued",
        "Only a queued job can be changed, and this one has begun or has ended.",
        "Cancel it and submit another, or run it again when it has ended.";
    JobUnreadable = "job_unreadable", CONFLICT, "Job of another release",
        "Another release of the service stored the request of this job, and this release cannot read it.",
        "Update the service, or send the request as a new job.";
    ApprovalResolved = "approval_resolved", CONFLICT, "Approval already resolved",
        "The approval has an answer, expired, or ended with its job. The first answer counts.",
        "Read the approval to see how it was resolved.";
    AgentUnreadable = "agent_unreadable", CONFLICT, "Agent of another release",
        "Another release of the service stored this version of the agent, and this release cannot read it.",
        "Update the service, or put the agent again.";
    SkillOutdated = "skill_outdated", CONFLICT, "Skill of another release",
        "An earlier release of the service accepted this uploaded skill, and this release cannot read it.",
        "Upload the skill again.";
    SkillReplaced = "skill_replaced", CONFLICT, "Skill replaced meanwhile",
        "The skill was replaced while the job was accepted.",
        "Send the request again.";
    TooManySkills = "too_many_skills", CONFLICT, "Too many skills",
        "The tenant has as many uploaded skills as it may have.",
        "Delete skills that are not needed any more.";
    ConversationBusy = "conversation_busy", CONFLICT, "Conversation has an unfinished job",
        "A conversation can only be deleted when all its jobs have ended.",
        "Wait for its jobs, or cancel them.";
    ScheduleNameTaken = "schedule_name_taken", CONFLICT, "Schedule name taken",
        "Another schedule of the tenant has this name.",
        "Choose another name, or change that schedule.";
    ScheduleChanged = "schedule_changed", CONFLICT, "Schedule changed meanwhile",
        "Someone else changed the schedule while this change was checked.",
        "Read the schedule, and send the change again.";
    TooManySchedules = "too_many_schedules", CONFLICT, "Too many schedules",
        "The tenant has as many schedules as it may have.",
        "Delete schedules that are not needed any more.";
    WebhookChanged = "webhook_changed", CONFLICT, "Webhook changed meanwhile",
        "Someone else changed the webhook while this change was checked.",
        "Read the webhook, and send the change again.";
    WebhookDisabled = "webhook_disabled", CONFLICT, "Webhook disabled",
        "The service disabled the webhook, because its receiver answered with 410 or all attempts of five days failed.",
        "Set its `status` to `active` when the receiver works again.";
    TooManyWebhooks = "too_many_webhooks", CONFLICT, "Too many webhooks",
        "The tenant has as many webhooks as it may have.",
        "Delete webhooks that are not needed any more.";
    TenantNameTaken = "tenant_name_taken", CONFLICT, "Tenant name taken",
        "Another tenant has this name.",
        "Choose another name.";
    TenantInUse = "tenant_in_use", CONFLICT, "Tenant in use",
        "A tenant can only be deleted when it has no jobs, files and uploaded skills, and not with a key of its own.",
        "Delete its jobs, assets and skills first.";
    ContentLost = "content_lost", GONE, "Content lost",
        "The asset store does not have the bytes of this file any more.",
        "Upload the file again, or run the job again that made it.";
    CursorExpired = "cursor_expired", GONE, "Cursor expired",
        "The cursor is older than the retention of events, the tenant had no stream for 30 days, or the database was restored.",
        "List the jobs, and follow the stream from its first `cursor`.";
    PreconditionFailed = "precondition_failed", PRECONDITION_FAILED, "Precondition failed",
        "`If-Match` names other content than there is.",
        "Fetch the content again without `If-Match`.";
    TooLarge = "too_large", PAYLOAD_TOO_LARGE, "Body too large",
        "The body has more bytes or values than it may have.",
        "Upload files to `POST /v1/assets` and name them by their ids.";
    UnsupportedMediaType = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE, "Unsupported media type",
        "The body is of another kind than the operation takes, or is compressed.",
        "Send the `Content-Type` that `detail` names, without `Content-Encoding`.";
    RangeNotSatisfiable = "range_not_satisfiable", RANGE_NOT_SATISFIABLE, "Range not satisfiable",
        "The content ends before the range that was asked for.",
        "Ask for a range within the size in `Content-Range`.";
    InvalidRequest = "invalid_request", UNPROCESSABLE_ENTITY, "Invalid request",
        "The body is JSON, and fields of it cannot be used. `errors` lists each with a JSON Pointer.",
        "Correct the fields in `errors`.";
    IdempotencyKeyReused = "idempotency_key_reused", UNPROCESSABLE_ENTITY, "Idempotency-Key used before",
        "This `Idempotency-Key` was used with another request within the last 24 hours.",
        "Use a new key for each new request, and the same key only to send the same request again.";
    BudgetExceeded = "budget_exceeded", TOO_MANY_REQUESTS, "Budget exceeded",
        "The tenant has used up its budget for this calendar month (UTC).",
        "Wait until the time in `Retry-After`, or have the budget raised.";
    SubmitRateExceeded = "submit_rate_exceeded", TOO_MANY_REQUESTS, "Submission rate exceeded",
        "The tenant submits jobs faster than it may.",
        "Wait as long as `Retry-After` says. `RateLimit` on answers to submissions says what remains.";
    QueueFull = "queue_full", TOO_MANY_REQUESTS, "Too many unfinished jobs",
        "The tenant has as many unfinished jobs as it may have.",
        "Wait until some have ended, or have the limit raised.";
    Internal = "internal", INTERNAL_SERVER_ERROR, "Internal error",
        "The service failed. Its log has the cause under the `request_id`.",
        "Send the request again with the same `Idempotency-Key`; if it persists, give the `request_id` to the operator.";
    NotConfigured = "not_configured", SERVICE_UNAVAILABLE, "Not configured",
        "The service cannot do this until its operator configures what it needs.",
        "Read `detail`, which names the setting.";
    Unavailable = "unavailable", SERVICE_UNAVAILABLE, "Unavailable",
        "The service cannot reach its database or its asset store now.",
        "Send the request again after `Retry-After`, with the same `Idempotency-Key`.";
}

impl ErrorCode {
    /// The code of that name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter();
        all.find(|code| code.as_str() == name).copied()
    }

    /// The page that explains it.
    pub(crate) fn url(self) -> String {
        format!("/docs/errors/{}", self.as_str())
    }
}
