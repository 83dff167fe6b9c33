//! What tests need: an agent that can be told to misbehave ([`fake_agent`]), a model provider without a network
//! ([`fake_llm`]), directories and an environment to run in ([`World`]), a client for programs that speak JSON-RPC
//! ([`RpcClient`]), NATS servers ([`NatsServers`]), a terminal ([`pseudo_terminal`]), and comparisons of what agents print ([`pi_stream`]).

mod clean_start;
mod clock;
mod fake_acp;
pub mod fake_agent;
pub mod fake_llm;
mod files;
#[cfg(target_os = "linux")]
mod fleet;
#[cfg(target_os = "linux")]
mod forbidden_calls;
mod nats;
pub mod pi_stream;
mod processes;
pub mod pseudo_terminal;
mod rpc_client;
mod world;

pub use clean_start::clean_command;
pub use clock::Clock;
pub use files::{client, e2e, is_newest_pi, pi_programs, write_file, write_program};
#[cfg(target_os = "linux")]
pub use fleet::{FleetFault, Suffered, suffer};
#[cfg(target_os = "linux")]
pub use forbidden_calls::{SystemCall, forbid};
pub use nats::{NatsServers, Proxy, free_port};
pub use processes::{kill_and_wait, marked_processes, peak_memory, stop_and_wait, wait_until};
pub use rpc_client::RpcClient;
pub use world::{MARK, Program, Ran, Running, World};
