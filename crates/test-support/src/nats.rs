//! Real NATS servers for a test: one node, or a cluster of three, on loopback, with stores of their own.
//!
//! They end with the value, and with the thread that started them, so that a killed test leaves none behind.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a harness fails its test by panicking")]
#![expect(clippy::missing_panics_doc, reason = "the names say it")]

mod network;
mod proxy;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

pub use self::network::free_port;
use self::network::get;
pub use self::proxy::Proxy;
use crate::clean_start::clean_command;
use crate::processes::{stop_and_wait, wait_until};

/// Servers that belong together.
#[derive(Debug)]
pub struct NatsServers {
    program: PathBuf,
    directory: TempDir,
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    config: PathBuf,
    port: u16,
    monitoring: u16,
    process: Option<Child>,
}

/// Settings that every node has besides its own, in the server's own format.
const COMMON: &str = "\
jetstream { max_memory_store: 64MB, max_file_store: 4GB }
";

impl NatsServers {
    /// One node without credentials.
    pub fn one(program: &Path) -> NatsServers {
        NatsServers::start_all(program, 1)
    }

    /// A cluster of three nodes, without credentials, with a leader.
    pub fn three(program: &Path) -> NatsServers {
        NatsServers::start_all(program, 3)
    }

    /// One node with a configuration that says where it listens, in a directory of its own.
    pub fn with_config(program: &Path, config: &Path, port: u16) -> NatsServers {
        let directory = tempfile::Builder::new().prefix("nats-").tempdir().unwrap();
        let monitoring = free_port();
        let node = Node { config: config.to_owned(), port, monitoring, process: None };
        let mut servers = NatsServers { program: program.to_owned(), directory, nodes: vec![node] };
        servers.start(0);
        servers.wait_until_ready();
        servers
    }

    fn start_all(program: &Path, count: usize) -> NatsServers {
        let directory = tempfile::Builder::new().prefix("nats-").tempdir().unwrap();
        let ports: Vec<[u16; 3]> =
            (0..count).map(|_| [free_port(), free_port(), free_port()]).collect();
        let routes: Vec<String> =
            ports.iter().map(|[_, _, cluster]| format!("nats://127.0.0.1:{cluster}")).collect();
        let node = |(index, [port, monitoring, cluster]): (usize, &[u16; 3])| {
            let store = directory.path().join(format!("store-{index}"));
            let mut text = format!(
                "server_name: node-{index}\nlisten: \"127.0.0.1:{port}\"\n{COMMON}\
                 jetstream {{ store_dir: \"{}\" }}\n",
                store.display()
            );
            if count > 1 {
                // Without advertisements, a client knows only the addresses that it was given, so that a proxy is not passed by.
                text.push_str(&format!(
                    "cluster {{ name: fleet, listen: \"127.0.0.1:{cluster}\", no_advertise: true, routes: [{}] }}\n",
                    routes.join(", ")
                ));
            }
            let config = directory.path().join(format!("node-{index}.conf"));
            fs::write(&config, text).unwrap();
            Node { config, port: *port, monitoring: *monitoring, process: None }
        };
        let nodes = ports.iter().enumerate().map(node).collect();
        let mut servers = NatsServers { program: program.to_owned(), directory, nodes };
        (0..count).for_each(|index| servers.start(index));
        servers.wait_until_ready();
        servers
    }

    /// How many nodes there are, running or not.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// The addresses of all nodes, separated by commas.
    pub fn url(&self) -> String {
        let urls: Vec<String> = (0..self.count()).map(|node| self.node_url(node)).collect();
        urls.join(",")
    }

    /// The address of one node.
    pub fn node_url(&self, node: usize) -> String {
        format!("nats://127.0.0.1:{}", self.nodes[node].port)
    }

    /// The port at which clients reach a node.
    pub fn port(&self, node: usize) -> u16 {
        self.nodes[node].port
    }

    /// Starts a node that does not run. Its store is what it was.
    pub fn start(&mut self, node: usize) {
        let log = self.directory.path().join(format!("node-{node}.log"));
        let log = File::options().create(true).append(true).open(log).unwrap();
        let node = &mut self.nodes[node];
        assert!(node.process.is_none(), "the node runs already");
        let mut command = clean_command(&self.program);
        command.arg("--config").arg(&node.config);
        command.args(["--http_port", &node.monitoring.to_string()]);
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        end_with_this_thread(&mut command);
        node.process = Some(command.spawn().unwrap());
    }

    /// Kills a node as a crash does.
    pub fn kill(&mut self, node: usize) {
        if let Some(mut process) = self.nodes[node].process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Kills all nodes.
    pub fn kill_all(&mut self) {
        (0..self.count()).for_each(|node| self.kill(node));
    }

    /// Stops a node without ending it: its connections stay, and it answers nothing.
    pub fn freeze(&self, node: usize) {
        stop_and_wait(Pid::from_child(self.nodes[node].process.as_ref().unwrap()));
    }

    /// Lets a node go on that was stopped.
    pub fn thaw(&self, node: usize) {
        self.signal(node, Signal::CONT);
    }

    /// The process of a node that runs.
    pub fn pid(&self, node: usize) -> u32 {
        self.nodes[node].process.as_ref().unwrap().id()
    }

    fn signal(&self, node: usize, signal: Signal) {
        kill_process(Pid::from_child(self.nodes[node].process.as_ref().unwrap()), signal).unwrap();
    }

    /// The node that leads a stream, once there is one.
    pub fn leader(&self, stream: &str) -> usize {
        let mut found = None;
        wait_until(|| {
            found = self.running().find_map(|node| self.leader_seen_by(node, stream));
            found.is_some()
        });
        found.unwrap()
    }

    fn leader_seen_by(&self, node: usize, stream: &str) -> Option<usize> {
        let facts = self.facts(node, "/jsz?accounts=true&streams=true")?;
        let accounts = facts["account_details"].as_array()?.iter();
        let mut streams =
            accounts.flat_map(|account| account["stream_detail"].as_array().into_iter().flatten());
        let found = streams.find(|found| found["name"] == stream)?;
        found["cluster"]["leader"].as_str()?.strip_prefix("node-")?.parse().ok()
    }

    /// Waits until all nodes that run answer, and those of a cluster have a leader.
    pub fn wait_until_ready(&mut self) {
        for index in self.running().collect::<Vec<_>>() {
            wait_until(|| {
                let process = self.nodes[index].process.as_mut().unwrap();
                if let Some(status) = process.try_wait().unwrap() {
                    panic!("node {index} ended with {status}:\n{}", self.log(index));
                }
                self.is_ready(index)
            });
        }
    }

    /// Whether a node answers, has what the others have, and, in a cluster, knows a leader.
    pub fn is_ready(&self, node: usize) -> bool {
        let is_healthy =
            self.facts(node, "/healthz").is_some_and(|health| health["status"] == "ok");
        let knows_leader = |facts: Value| {
            facts["meta_cluster"]["leader"].as_str().is_some_and(|name| !name.is_empty())
        };
        is_healthy && (self.count() == 1 || self.facts(node, "/jsz").is_some_and(knows_leader))
    }

    /// What all nodes keep together: how many messages, and their bytes.
    pub fn stored(&self) -> (u64, u64) {
        let all: Vec<Value> = self.running().filter_map(|node| self.facts(node, "/jsz")).collect();
        let sum = |name: &str| all.iter().filter_map(|facts| facts[name].as_u64()).sum();
        (sum("messages"), sum("storage"))
    }

    /// The streams of the first node, each with the days for which it keeps a message; zero is for ever.
    pub fn days_kept(&self) -> Vec<(String, u64)> {
        let facts = self.facts(0, "/jsz?accounts=true&streams=true&config=true").unwrap();
        let accounts = facts["account_details"].as_array().unwrap().iter();
        let streams = accounts.flat_map(|account| account["stream_detail"].as_array().unwrap());
        let nanoseconds_of_day = 24 * 60 * 60 * 1_000_000_000;
        streams
            .map(|stream| {
                let age = stream["config"]["max_age"].as_u64().unwrap_or_default();
                (stream["name"].as_str().unwrap().to_owned(), age / nanoseconds_of_day)
            })
            .collect()
    }

    fn running(&self) -> impl Iterator<Item = usize> {
        (0..self.count()).filter(|node| self.nodes[*node].process.is_some())
    }

    fn facts(&self, node: usize, path: &str) -> Option<Value> {
        serde_json::from_slice(&get(self.nodes[node].monitoring, path)?).ok()
    }

    /// What a node has said.
    pub fn log(&self, node: usize) -> String {
        fs::read_to_string(self.directory.path().join(format!("node-{node}.log")))
            .unwrap_or_default()
    }
}

impl Drop for NatsServers {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            if let Some(mut process) = node.process.take() {
                let _ = process.kill();
                let _ = process.wait();
            }
        }
    }
}

/// Lets the system end the server when the test that started it is killed.
fn end_with_this_thread(command: &mut std::process::Command) {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::process::CommandExt;

        let bind = || {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            Ok(())
        };
        // SAFETY: between `fork` and `exec`, this makes one system call and nothing else.
        #[expect(unsafe_code, reason = "the standard library has no other way to ask for it")]
        unsafe {
            command.pre_exec(bind)
        };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}
