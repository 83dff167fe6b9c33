//! What tests play against: a child that can be made to misbehave ([`fake_agent`]), a model
//! provider without a network ([`fake_llm`]), a small world to run in ([`World`]), and a program to
//! talk with ([`Conversation`]); and how to
//! compare what they print ([`pi_stream`]).

mod clean_start;
mod conversation;
pub mod fake_agent;
pub mod fake_llm;
mod files;
pub mod pi_stream;
mod processes;
pub mod pseudo_terminal;
mod world;

pub use clean_start::clean_command;
pub use conversation::Conversation;
pub use files::{e2e, write_file, write_program};
pub use processes::{marked_processes, wait_until};
pub use world::{MARK, Program, Ran, Running, World};
