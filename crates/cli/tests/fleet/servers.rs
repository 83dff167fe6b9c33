//! The servers that the other tests play with do what those tests rely on.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use test_support::{NatsServers, Proxy, wait_until};

use super::nats_server;

/// The first line that a server says to a client.
fn greeting(url: &str) -> Option<String> {
    let address = url.strip_prefix("nats://").unwrap();
    let stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    line.starts_with("INFO ").then_some(line)
}

#[test]
fn a_cluster_survives_each_of_its_nodes() {
    let mut servers = NatsServers::three(&nats_server());
    for node in 0..3 {
        assert!(greeting(&servers.node_url(node)).is_some());
        servers.kill(node);
        assert_eq!(greeting(&servers.node_url(node)), None);
        servers.wait_until_ready();
        servers.start(node);
        servers.wait_until_ready();
        assert!(greeting(&servers.node_url(node)).is_some());
    }
}

#[test]
fn a_frozen_node_answers_nothing_until_it_thaws() {
    let servers = NatsServers::one(&nats_server());
    servers.freeze(0);
    assert_eq!(greeting(&servers.url()), None);
    servers.thaw(0);
    wait_until(|| greeting(&servers.url()).is_some());
}

#[test]
fn nothing_passes_a_cut_way_and_all_of_it_later() {
    let servers = NatsServers::one(&nats_server());
    let proxy = Proxy::to(servers.port(0));
    let mut client = TcpStream::connect(proxy.url().strip_prefix("nats://").unwrap()).unwrap();
    let mut answers = BufReader::new(client.try_clone().unwrap());
    let mut line = String::new();
    answers.read_line(&mut line).unwrap();
    assert!(line.starts_with("INFO "), "{line}");
    proxy.cut();
    client.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    client.write_all(b"CONNECT {\"verbose\":false}\r\nPING\r\n").unwrap();
    line.clear();
    assert!(answers.read_line(&mut line).is_err(), "{line}");
    proxy.mend();
    client.set_read_timeout(None).unwrap();
    answers.read_line(&mut line).unwrap();
    assert_eq!(line, "PONG\r\n");
}

#[test]
fn a_server_ends_with_its_test() {
    let servers = NatsServers::one(&nats_server());
    let pid = servers.pid(0);
    drop(servers);
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    let pid = std::thread::spawn(|| {
        let servers = NatsServers::one(&nats_server());
        let pid = servers.pid(0);
        // As when the test is killed: nothing is dropped.
        std::mem::forget(servers);
        pid
    });
    let pid = pid.join().unwrap();
    wait_until(|| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
    });
}
