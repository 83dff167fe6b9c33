//! A tiny HTTP client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};

use serde_json::Value;

use super::{FakeLlm, PATIENCE};

/// A connection to a server.
pub(super) struct Client(BufReader<TcpStream>);

impl Client {
    pub(super) fn connect(server: &FakeLlm) -> Self {
        let stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(BufReader::new(stream))
    }

    pub(super) fn send(&mut self, message: &str) {
        self.0.get_mut().write_all(message.as_bytes()).unwrap();
    }

    pub(super) fn send_post(&mut self, body: &Value) {
        self.send_post_to("/v1/chat/completions", body);
    }

    fn send_post_to(&mut self, path: &str, body: &Value) {
        let body = body.to_string();
        let length = body.len();
        self.send(&format!("POST {path} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}"));
    }

    pub(super) fn post(&mut self, body: &Value) -> Response {
        self.send_post(body);
        self.receive()
    }

    pub(super) fn post_to(&mut self, path: &str, body: &Value) -> Response {
        self.send_post_to(path, body);
        self.receive()
    }

    pub(super) fn get(&mut self, path: &str) -> Response {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: fake\r\n\r\n"));
        self.receive()
    }

    fn read_line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(super) fn receive_head(&mut self) -> (u16, String) {
        let status = self.read_line().split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = String::new();
        loop {
            match self.read_line() {
                line if line.is_empty() => return (status, headers),
                line => headers += &format!("{line}\n"),
            }
        }
    }

    pub(super) fn receive(&mut self) -> Response {
        let (status, headers) = self.receive_head();
        let mut body = Vec::new();
        let mut complete = true;
        if headers.contains("transfer-encoding: chunked") {
            loop {
                // A connection that was cut gives an empty line in place of a length.
                let Ok(length) = usize::from_str_radix(&self.read_line(), 16) else {
                    complete = false;
                    break;
                };
                let mut piece = vec![0; length + 2];
                self.0.read_exact(&mut piece).unwrap();
                body.extend_from_slice(&piece[..length]);
                if length == 0 {
                    break;
                }
            }
        } else {
            let (_, length) = headers.split_once("content-length: ").unwrap();
            body.resize(length.lines().next().unwrap().parse().unwrap(), 0);
            self.0.read_exact(&mut body).unwrap();
        }
        Response { status, headers, body: String::from_utf8(body).unwrap(), complete }
    }

    /// Says that no more requests will come, but goes on reading.
    pub(super) fn shutdown_write(&self) {
        self.0.get_ref().shutdown(Shutdown::Write).unwrap();
    }

    /// Waits for the next byte, or for the server to close the connection.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.0.fill_buf().is_ok_and(<[u8]>::is_empty)
    }
}

pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: String,
    pub(super) body: String,
    pub(super) complete: bool,
}

impl Response {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The chunks of a stream without what ends it.
    pub(super) fn chunks(&self) -> Vec<Value> {
        let events = self.body.split_terminator("\n\n").filter_map(|it| it.strip_prefix("data: "));
        events.filter(|it| *it != "[DONE]").map(|it| serde_json::from_str(it).unwrap()).collect()
    }

    pub(super) fn deltas(&self) -> Vec<Value> {
        let chunks = self.chunks();
        chunks.iter().filter_map(|it| it.pointer("/choices/0/delta")).cloned().collect()
    }

    /// All the pieces of one field of the deltas together.
    pub(super) fn joined(&self, pointer: &str) -> String {
        let deltas = self.deltas();
        deltas.iter().filter_map(|it| it.pointer(pointer)?.as_str()).collect()
    }

    pub(super) fn text(&self) -> String {
        self.joined("/content")
    }
}
