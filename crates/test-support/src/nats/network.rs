//! Ports, and what a server tells about itself.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

/// Ports below those that the system gives to connections. A port must stay a node's own while the node is dead.
const FIRST: u16 = 12_000;
const COUNT: u16 = 18_000;

/// A port of loopback that nothing listens at, and that this process gives out once.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Programs that test at the same time begin at different places.
    let start = u16::try_from(std::process::id() * 37 % u32::from(COUNT)).unwrap_or_default();
    loop {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = FIRST + (start.wrapping_add(step)) % COUNT;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// The body of an answer to `GET`, whatever its status; `None` if there is no server.
pub(super) fn get(port: u16, path: &str) -> Option<Vec<u8>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let body = answer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    Some(answer.split_off(body))
}
