//! The whole system, from the outside: real processes, a real database, a scripted model.

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
mod fair;
mod http;
mod idempotency;
mod jobs;
mod kill;
mod log;
mod mail;
mod mcp;
mod metrics;
mod model_file;
mod model_loop;
mod model_random;
mod model_reply;
mod model_trouble;
mod openapi;
mod outage;
mod outputs;
mod pooler;
mod queue;
mod releases;
mod resume;
mod retention;
mod sandbox;
mod secrets;
mod skills;
mod skills_own;
mod smoke;
mod stream;
mod stuck;
mod submit_limits;
mod tools;
mod traces;
mod up;
