//! Error codes, which are part of the API contract. Each has a page that explains it.

use actix_web::http::StatusCode;

macro_rules! codes {
    ($($variant:ident = $name:literal, $status:ident, $title:literal, $meaning:literal, $remedy:literal;)*) => {
        /// The machine-readable code of a problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ErrorCode {
            $(#[doc = $title] $variant,)*
        }

        impl ErrorCode {
            /// All codes.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the code as responses contain it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Returns the HTTP status of responses with this code.
            pub fn status(self) -> StatusCode {
                match self {
                    $(Self::$variant => StatusCode::$status,)*
                }
            }

            /// Returns the title, the meaning, and the remedy.
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
        "The body is not JSON, or a query parameter or a header has an invalid value.",
        "Read `detail`, which names the parameter or the position, and correct the request.";
    Unauthorized = "unauthorized", UNAUTHORIZED, "No valid key",
        "The request has no API key, or one that this service does not know: mistyped, revoked, or of another service.",
        "Send a key as `Authorization: Bearer sk_…`. `skillet keys create` makes one.";
    Forbidden = "forbidden", FORBIDDEN, "Not allowed",
        "The key is valid but lacks the scope that the operation needs, or a short-lived token was used for something other than reading its job.",
        "Use a key with the scope that `detail` names.";
    CrossSite = "cross_site", FORBIDDEN, "Request from another site",
        "The request has a session cookie, but the browser did not send it from a page of this service.",
        "Send an API key instead, or call the API from a page of the same origin. `--public-url` tells the service its origin.";
    OriginNotAllowed = "origin_not_allowed", FORBIDDEN, "Origin not allowed",
        "A page of another origin called the API, and the service does not allow this origin.",
        "Start the service with `--cors-origin` and that origin.";
    NotFound = "not_found", NOT_FOUND, "Not found",
        "The path or the resource does not exist, or the resource belongs to another tenant.",
        "Check the path and the id. An id begins with the kind of its resource, such as `job_`.";
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED, "Method not allowed",
        "The path exists but does not support this method.",
        "Use one of the methods in the header `Allow`.";
    BodyTooSlow = "body_too_slow", REQUEST_TIMEOUT, "Body too slow",
        "The body stalled, or arrived below the minimum rate.",
        "Send the request again over a better connection.";
    JobNotFinished = "job_not_finished", CONFLICT, "Job not finished",
        "The operation needs a job that has ended, and this one has not.",
        "Wait for its end, or cancel it.";
    JobNotQueued = "job_not_queued", CONFLICT, "Job not queued",
        "Only a queued job can be changed, and this one has begun or has ended.",
        "Cancel it and submit another, or run it again when it has ended.";
    JobUnreadable = "job_unreadable", CONFLICT, "Job stored by another release",
        "Another release of the service stored the request of this job, and this release cannot read it.",
        "Update the service, or send the request as a new job.";
    ApprovalResolved = "approval_resolved", CONFLICT, "Approval already resolved",
        "The approval has an answer, expired, or ended with its job. The first answer counts.",
        "Read the approval to see how it was resolved.";
    AgentUnreadable = "agent_unreadable", CONFLICT, "Agent stored by another release",
        "Another release of the service stored this version of the agent, and this release cannot read it.",
        "Update the service, or put the agent again.";
    SkillOutdated = "skill_outdated", CONFLICT, "Skill accepted by an earlier release",
        "An earlier release of the service accepted this uploaded skill, and this release cannot read it.",
        "Upload the skill again.";
    SkillReplaced = "skill_replaced", CONFLICT, "Skill replaced concurrently",
        "The skill was replaced while the job was being accepted.",
        "Send the request again.";
    TooManySkills = "too_many_skills", CONFLICT, "Too many skills",
        "The tenant has reached its limit of uploaded skills.",
        "Delete skills that are no longer needed.";
    ConversationBusy = "conversation_busy", CONFLICT, "Conversation has an unfinished job",
        "A conversation can only be deleted when all its jobs have ended.",
        "Wait for its jobs, or cancel them.";
    ScheduleNameTaken = "schedule_name_taken", CONFLICT, "Schedule name taken",
        "Another schedule of the tenant has this name.",
        "Choose another name, or change that schedule.";
    ScheduleChanged = "schedule_changed", CONFLICT, "Schedule changed concurrently",
        "Another request changed the schedule while this change was being checked.",
        "Read the schedule, and send the change again.";
    TooManySchedules = "too_many_schedules", CONFLICT, "Too many schedules",
        "The tenant has reached its limit of schedules.",
        "Delete schedules that are no longer needed.";
    WebhookChanged = "webhook_changed", CONFLICT, "Webhook changed concurrently",
        "Another request changed the webhook while this change was being checked.",
        "Read the webhook, and send the change again.";
    WebhookDisabled = "webhook_disabled", CONFLICT, "Webhook disabled",
        "The service disabled the webhook, because its receiver answered with 410 or all attempts of the last five days failed.",
        "Set its `status` to `active` when the receiver works again.";
    TooManyWebhooks = "too_many_webhooks", CONFLICT, "Too many webhooks",
        "The tenant has reached its limit of webhooks.",
        "Delete webhooks that are no longer needed.";
    TenantNameTaken = "tenant_name_taken", CONFLICT, "Tenant name taken",
        "Another tenant has this name.",
        "Choose another name.";
    TenantInUse = "tenant_in_use", CONFLICT, "Tenant in use",
        "A tenant can only be deleted when it has no jobs, files or uploaded skills, and only with a key of another tenant.",
        "Delete its jobs, assets and skills first, or use a key of another tenant.";
    ContentLost = "content_lost", GONE, "Content lost",
        "The asset store no longer has the content of this file.",
        "Upload the file again, or retry the job that made it.";
    CursorExpired = "cursor_expired", GONE, "Cursor expired",
        "The cursor is older than the retention of events, the tenant had no stream for 30 days, or the database was restored.",
        "List the jobs, and follow the stream from its first `cursor`.";
    PreconditionFailed = "precondition_failed", PRECONDITION_FAILED, "Precondition failed",
        "The content does not match the ETag in `If-Match`.",
        "Fetch the content again without `If-Match`.";
    TooLarge = "too_large", PAYLOAD_TOO_LARGE, "Body too large",
        "The body has too many bytes or values.",
        "Upload files to `POST /v1/assets` and name them by their ids.";
    UnsupportedMediaType = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE, "Unsupported media type",
        "The operation does not accept the media type of the body, or the body is compressed.",
        "Send the `Content-Type` that `detail` names, without `Content-Encoding`.";
    RangeNotSatisfiable = "range_not_satisfiable", RANGE_NOT_SATISFIABLE, "Range not satisfiable",
        "The requested range begins after the end of the content.",
        "Request a range within the size in `Content-Range`.";
    InvalidRequest = "invalid_request", UNPROCESSABLE_ENTITY, "Invalid request",
        "The body is JSON, but some of its fields are invalid. `errors` lists each with a JSON Pointer.",
        "Correct the fields in `errors`.";
    IdempotencyKeyReused = "idempotency_key_reused", UNPROCESSABLE_ENTITY, "Idempotency-Key used with a different request",
        "This `Idempotency-Key` was used with a different request within the last 24 hours.",
        "Use a new key for each new request, and the same key only to send the same request again.";
    BudgetExceeded = "budget_exceeded", TOO_MANY_REQUESTS, "Budget exceeded",
        "The tenant has used up its budget for this calendar month (UTC).",
        "Wait for the time in `Retry-After`, or ask the operator to raise the budget.";
    SubmitRateExceeded = "submit_rate_exceeded", TOO_MANY_REQUESTS, "Submission rate exceeded",
        "The tenant submits jobs faster than its limit allows.",
        "Wait for the time in `Retry-After`. The header `RateLimit` of responses to submissions has the remaining quota.";
    QueueFull = "queue_full", TOO_MANY_REQUESTS, "Too many unfinished jobs",
        "The tenant has reached its limit of unfinished jobs.",
        "Wait until some have ended, or ask the operator to raise the limit.";
    Internal = "internal", INTERNAL_SERVER_ERROR, "Internal error",
        "The service failed. Its log has the cause under the `request_id`.",
        "Send the request again with the same `Idempotency-Key`; if the error persists, give the `request_id` to the operator.";
    NotConfigured = "not_configured", SERVICE_UNAVAILABLE, "Not configured",
        "The operation needs a setting that the operator has not configured.",
        "Read `detail`, which names the setting.";
    Unavailable = "unavailable", SERVICE_UNAVAILABLE, "Unavailable",
        "The service cannot reach its database or its asset store now.",
        "Send the request again after `Retry-After`, with the same `Idempotency-Key`.";
}

impl ErrorCode {
    /// Returns the code with the given name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter();
        all.find(|code| code.as_str() == name).copied()
    }

    /// Returns the URL of the page that explains the code.
    pub(crate) fn url(self) -> String {
        format!("/docs/errors/{}", self.as_str())
    }
}
