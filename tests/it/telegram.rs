//! The adapter for Telegram, as a process between a service and a server of the Bot API.

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
