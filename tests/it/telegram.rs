//! The Telegram bot, as a process between a service and a Bot API server.

mod access;
mod approval;
mod chat_bot;
mod command;
mod conversation;
mod drawing;
mod failure;
mod job;
mod pace;
mod picture;
mod restart;
mod server;
mod webhook;
