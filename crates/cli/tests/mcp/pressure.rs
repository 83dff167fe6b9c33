//! Clients that send faster than they read, or more than they should.

use std::fs;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use test_support::{peak_memory, wait_until};

use super::*;

/// The most that a server needs, in mebibytes, whatever its client does. A build without optimisation
/// needs 30 of them before anything happens.
const MEMORY: u64 = 120;

/// Waits until what is observed has not changed for a while: there is nothing to be seen of a program
/// that waits.
fn wait_until_unchanged<Observed: PartialEq>(mut observe: impl FnMut() -> Observed) {
    let mut last = (observe(), Instant::now());
    wait_until(|| {
        let now = observe();
        if now != last.0 {
            last = (now, Instant::now());
        }
        last.1.elapsed() > Duration::from_secs(1)
    });
}

/// Waits until a server does nothing any more, because its client does not read.
fn wait_until_idle(pid: u32) {
    wait_until_unchanged(|| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.split(' ').skip(13).take(2).collect::<Vec<_>>().join(" ")
    });
}

/// Sends lines from a thread, while nothing is read. Returns when the server takes no more.
fn flood(server: &mut Server, lines: Vec<String>) -> thread::JoinHandle<std::process::ChildStdin> {
    let mut input = server.take_input();
    let written = Arc::new(AtomicUsize::new(0));
    let counted = written.clone();
    let writing = thread::spawn(move || {
        for line in lines {
            input.write_all(line.as_bytes()).unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
        }
        input
    });
    wait_until_unchanged(|| written.load(Ordering::Relaxed));
    writing
}

#[test]
fn a_client_that_does_not_read_waits_and_is_served_when_it_reads() {
    let world = world();
    let mut server = Server::initialized(&world, &quick());
    const REQUESTS: usize = 6_000;
    let request =
        |id: usize| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}\n");
    let writing =
        flood(&mut server, (0..REQUESTS).map(|number| request(1_000_000 + number)).collect());
    let memory = peak_memory(server.pid());
    assert!(memory < MEMORY, "{memory} MiB");
    assert!(!writing.is_finished(), "it was told to wait");
    // Every request is answered once, although the client was late.
    for _ in 0..REQUESTS {
        let line = server.receive_line();
        assert!(line.starts_with("{\"jsonrpc\":\"2.0\",\"id\":1"), "{}", &line[..200]);
    }
    let input = writing.join().unwrap();
    server.give_input(input);
    assert_eq!(server.request("ping", &json!({}))["result"], json!({}));
    let memory = peak_memory(server.pid());
    assert!(memory < MEMORY, "{memory} MiB");
    assert_eq!(server.close().code, Some(0));
    world.assert_nothing_left();
}

#[test]
fn garbage_does_not_pile_up_either() {
    let world = world();
    let mut server = Server::initialized(&world, &quick());
    const LINES: usize = 100_000;
    let writing = flood(&mut server, vec!["garbage\n".to_owned(); LINES]);
    let memory = peak_memory(server.pid());
    assert!(memory < MEMORY, "{memory} MiB");
    for _ in 0..LINES {
        assert!(server.receive_line().contains("-32700"));
    }
    server.give_input(writing.join().unwrap());
    assert_eq!(server.request("ping", &json!({}))["result"], json!({}));
    server.close();
}

#[test]
fn a_client_that_does_not_read_can_still_cancel() {
    let world = world();
    let mut server = Server::initialized(&world, &world.working());
    let call = server.begin_call("delegate_to_subagents", &tasks(1), None);
    wait_until(|| world.path("working").exists());
    // More than the client may leave unread, and a request that has to wait behind it.
    let each = server.request("tools/list", &json!({})).to_string().len();
    let count = (1024 + 128) * 1024 / each + 10;
    let list = |number| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":\"list-{number}\",\"method\":\"tools/list\"}}\n")
    };
    server.write((0..count).map(list).collect::<String>().as_bytes());
    wait_until_idle(server.pid());
    let waiting = server.begin_call("delegate_to_subagents", &tasks(1), None);
    for id in [waiting, call] {
        server.notify("notifications/cancelled", &json!({"requestId": id}));
    }
    wait_until(|| agents(&world) == 0);
    // The others are answered.
    for number in 0..count {
        let answer = server.response_named(&format!("list-{number}"));
        assert!(answer["result"]["tools"].is_array(), "{number}: {answer}");
    }
    assert_eq!(server.request("ping", &json!({}))["result"], json!({}));
    // The second was cancelled before it was begun.
    assert_eq!(world.runs().len(), 1);
    server.close();
    world.assert_nothing_left();
}

#[test]
fn a_client_that_closes_its_end_while_it_does_not_read_ends_the_server() {
    let world = world();
    let mut server = Server::initialized(&world, &world.working());
    server.begin_call("delegate_to_subagents", &tasks(1), None);
    wait_until(|| world.path("working").exists());
    let list = "{\"jsonrpc\":\"2.0\",\"id\":\"list\",\"method\":\"tools/list\"}\n";
    let writing = flood(&mut server, vec![list.to_owned(); 300]);
    drop(writing.join().unwrap());
    // Its output stays open, and is never read.
    world.wait_until_nothing_is_left();
    server.close();
}

#[test]
fn subscriptions_are_few_and_short_and_to_what_there_can_be() {
    let world = world();
    let mut server = Server::initialized(&world, &quick());
    for number in 0..100 {
        let uri = format!("subagent://profile/{}{number}", "x".repeat(1 << 20));
        let (code, message) = server.refusal("resources/subscribe", &json!({"uri": uri}));
        assert!(code == -32002 && message.len() < 1_000, "{code} {}", message.len());
    }
    let memory = peak_memory(server.pid());
    assert!(memory < MEMORY, "{memory} MiB");
    let subscribe = |number: usize| json!({"uri": format!("subagent://session/{number:016x}")});
    for number in 0..1024 {
        let answer = server.request("resources/subscribe", &subscribe(number));
        assert_eq!(answer["result"], json!({}), "{number}: {answer}");
    }
    let again = server.request("resources/subscribe", &subscribe(7));
    assert_eq!(again["result"], json!({}), "{again}");
    let (code, message) = server.refusal("resources/subscribe", &subscribe(1024));
    assert!(code == -32602 && message.contains("1024 subscriptions"), "{code} {message}");
    server.request("resources/unsubscribe", &subscribe(0));
    assert_eq!(server.request("resources/subscribe", &subscribe(1024))["result"], json!({}));
    server.close();
}
