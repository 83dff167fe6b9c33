//! Requests as JSON, answers as bytes, and both against a server.

mod answers;
mod requests;
mod server;
