//! The spans of an attempt and of its tool calls.

use shared::db::claim::Claimed;
use shared::message::ToolCall;
use shared::telemetry::trace::Span;

/// Returns the span of an attempt. All attempts of a job belong to the trace of the request that created the job.
pub(crate) fn of_attempt(claimed: &Claimed) -> Span {
    let job = &claimed.job;
    let name = job.skill.as_deref().or(job.agent.as_deref());
    let name = name.unwrap_or_default();
    let origin = claimed.request.origin.as_ref();
    let span = Span::of_message(origin, || format!("invoke_agent {name}"));
    span.set("gen_ai.operation.name", || "invoke_agent");
    span.set("gen_ai.agent.name", || name.to_owned());
    span.set("gen_ai.provider.name", || job.model.provider().to_owned());
    span.set("gen_ai.request.model", || job.model.id().to_owned());
    if let Some(conversation) = job.conversation_id {
        span.set("gen_ai.conversation.id", || conversation.to_string());
    }
    span.set("messaging.system", || "skillet");
    span.set("messaging.operation.type", || "process");
    span.set("messaging.message.id", || job.id.to_string());
    span.set("skillet.job.id", || job.id.to_string());
    span.set("skillet.attempt", || i64::from(job.attempt));
    span
}

/// Returns the span of a tool call, within that of its attempt. `tool` is a label, so names that a model invents
/// do not become span names.
pub(crate) fn of_tool(attempt: &Span, call: &ToolCall, tool: &str) -> Span {
    let span = attempt.work(|| format!("execute_tool {tool}"));
    span.set("gen_ai.operation.name", || "execute_tool");
    span.set("gen_ai.tool.name", || tool.to_owned());
    span.set("gen_ai.tool.type", || "function");
    span.set("gen_ai.tool.call.id", || call.call_id.clone());
    span
}
