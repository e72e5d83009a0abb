//! The adapter for Telegram: a bot that turns messages into jobs of a service and sends the results to the chats.
//!
//! It is a client of the HTTP API like any other, and stores nothing itself. Telegram keeps the updates that are not
//! handled, the service keeps the jobs, and the metadata of a job contains its state in its chat. So the process can
//! be killed and restarted at any time.

mod access;
mod adapter;
mod album;
mod approval;
mod bot;
mod bot_error;
mod chat_action;
mod chat_answer;
mod chat_conversation;
mod chat_jobs;
mod command;
mod delivery;
mod dispatch;
mod entity;
mod error;
mod follower;
mod inbox;
mod intake;
mod job_record;
mod job_task;
mod markdown;
mod outbox;
mod pace;
mod place;
mod polling;
mod progress;
mod prompt;
mod rich_text;
mod run;
mod settings;
mod split;
mod tap;
mod token;
mod update;
mod webhook;

pub use access::Access;
pub use bot_error::{BotError, BotRefusal, RefusalParameters};
pub use error::TelegramError;
pub use run::run;
pub use settings::{BOT_API_URL, TelegramSettings, UpdateSource};
pub use token::{BotToken, InvalidBotToken};
