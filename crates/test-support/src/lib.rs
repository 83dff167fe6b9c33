//! What tests play against: a child that can be made to misbehave ([`fake_agent`]), a model
//! provider without a network ([`fake_llm`]), and a small world to run in ([`World`]); and how to
//! compare what they print ([`pi_stream`]).

pub mod fake_agent;
pub mod fake_llm;
pub mod pi_stream;
mod processes;
mod world;

pub use processes::{marked_processes, wait_until};
pub use world::{MARK, Program, Ran, Running, World};
