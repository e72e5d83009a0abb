//! Integration tests of the whole system: real processes, a real database, a scripted model.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod support;

mod agents;
mod approvals;
mod assets;
mod auth;
mod bad_input;
mod bucket;
mod budget;
mod builtin;
mod chaos;
mod cli;
mod clock;
mod command;
mod conversations;
mod docs;
mod egress;
mod event_weeks;
mod fair_share;
mod http;
mod idempotency;
mod jobs;
mod kill;
mod log;
mod mail;
mod mcp;
mod metrics;
mod model_attachments;
mod model_fuzz;
mod model_loop;
mod model_reply;
mod openapi;
mod outage;
mod outputs;
mod package;
mod pooler;
mod provider_errors;
mod queue;
mod releases;
mod resume;
mod retention;
mod sandbox;
mod schema;
mod secrets;
mod skills;
mod smoke;
mod stream;
mod stuck;
mod submit_limits;
mod tools;
mod traces;
mod up;
mod uploaded_skills;
