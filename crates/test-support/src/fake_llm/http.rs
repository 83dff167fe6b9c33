//! As much of HTTP/1.1 as clients of a model provider need: persistent connections, bodies with a
//! length on the way in, bodies with a length or in chunks on the way out.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

/// How long the request line and the headers may be together.
const MAX_HEAD_BYTES: u64 = 64 * 1024;

/// How long the body of a request may be; far above any real conversation.
const MAX_BODY_BYTES: u64 = 256 * 1024 * 1024;

/// How long a client that was refused may stay silent before its connection is closed.
const LINGER: Duration = Duration::from_secs(1);

/// One HTTP request that the server has seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Request {
    /// The method, such as `POST`.
    pub method: String,
    /// The path as it was sent, with its query if it had one.
    pub path: String,
    /// Names, in lower case, and values, in the order in which they were sent.
    pub headers: Vec<(String, String)>,
    /// The body: `null` if it was empty, a string if it was not JSON.
    pub body: Value,
}

impl Request {
    /// The value of the first header with this (lower-case) name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// The server's end of a connection. Requests and answers take turns.
pub(super) struct Connection<'stream> {
    stream: &'stream TcpStream,
    reader: BufReader<&'stream TcpStream>,
    keep_alive: bool,
}

impl<'stream> Connection<'stream> {
    pub(super) fn new(stream: &'stream TcpStream) -> io::Result<Self> {
        // Deltas are small, and a test should not wait for the next one to fill a segment.
        stream.set_nodelay(true)?;
        Ok(Self { stream, reader: BufReader::new(stream), keep_alive: true })
    }

    /// Waits for the next request; `None` if the connection is at its end.
    ///
    /// A malformed request is answered right here and ends the connection, because the server cannot know
    /// where the next request would begin.
    pub(super) fn next_request(&mut self) -> io::Result<Option<Request>> {
        if !self.keep_alive || self.reader.fill_buf()?.is_empty() {
            return Ok(None);
        }
        match self.read_request() {
            Ok(request) => Ok(Some(request)),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                self.refuse(&error.to_string())?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Answers with a JSON document.
    pub(super) fn respond(
        &mut self,
        status: u16,
        headers: &[(&str, String)],
        body: &str,
    ) -> io::Result<()> {
        let mut message = self.head(status, "application/json");
        for (name, value) in headers {
            message += &format!("{name}: {value}\r\n");
        }
        message += &format!("content-length: {}\r\n\r\n{body}", body.len());
        self.stream.write_all(message.as_bytes())
    }

    /// Answers with a web page, as proxies do.
    pub(super) fn respond_page(&mut self, body: &str) -> io::Result<()> {
        let head = self.head(200, "text/html; charset=utf-8");
        let message = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
        self.stream.write_all(message.as_bytes())
    }

    /// Answers with an error of the client's making, in the form that OpenAI gives it.
    pub(super) fn respond_error(&mut self, status: u16, message: &str) -> io::Result<()> {
        let body = json!({"error": {"message": message, "type": "invalid_request_error"}});
        self.respond(status, &[], &body.to_string())
    }

    /// Begins an answer whose body comes piece by piece.
    pub(super) fn start_body(&mut self, content_type: &str) -> io::Result<()> {
        let mut message = self.head(200, content_type);
        message += "cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";
        self.stream.write_all(message.as_bytes())
    }

    pub(super) fn write_piece(&mut self, piece: &[u8]) -> io::Result<()> {
        // An empty chunk would end the body.
        if piece.is_empty() {
            return Ok(());
        }
        // One write, so that a piece of ordinary size arrives in one read.
        let mut message = format!("{:x}\r\n", piece.len()).into_bytes();
        message.extend_from_slice(piece);
        message.extend_from_slice(b"\r\n");
        self.stream.write_all(&message)
    }

    pub(super) fn finish_body(&mut self) -> io::Result<()> {
        self.stream.write_all(b"0\r\n\r\n")
    }

    /// Waits until the client closes the connection, or the server shuts it down.
    pub(super) fn wait_until_closed(&mut self) -> io::Result<()> {
        self.close();
        io::copy(&mut self.reader, &mut io::sink())?;
        Ok(())
    }

    /// Makes this the last answer on the connection, even if it is not complete.
    pub(super) fn close(&mut self) {
        self.keep_alive = false;
    }

    fn read_request(&mut self) -> io::Result<Request> {
        let mut head = self.reader.by_ref().take(MAX_HEAD_BYTES);
        let line = read_line(&mut head)?;
        let [method, path, "HTTP/1.1"] = line.split(' ').collect::<Vec<_>>()[..] else {
            return Err(malformed(&format!("not an HTTP/1.1 request line: {line:?}")));
        };
        let mut request = Request {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: Value::Null,
        };
        loop {
            let line = read_line(&mut head)?;
            if line.is_empty() {
                break;
            }
            let Some((name, value)) = line.split_once(':') else {
                return Err(malformed(&format!("not a header: {line:?}")));
            };
            request.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        self.keep_alive = !has_token(&request, "connection", "close");
        request.body = self.read_body(&request)?;
        Ok(request)
    }

    fn read_body(&mut self, request: &Request) -> io::Result<Value> {
        if request.header("transfer-encoding").is_some() {
            return Err(malformed("the body of a request needs a content-length"));
        }
        let length = request.header("content-length").unwrap_or("0");
        let length = match length.parse::<u64>() {
            Ok(length) if length <= MAX_BODY_BYTES => length,
            _ => {
                return Err(malformed(&format!("not a usable content-length: {length:?}")));
            }
        };
        // curl asks before it sends a long body, and waits for a second without an answer.
        if has_token(request, "expect", "100-continue") {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let mut body = Vec::new();
        if self.reader.by_ref().take(length).read_to_end(&mut body)? as u64 != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if body.is_empty() {
            return Ok(Value::Null);
        }
        Ok(serde_json::from_slice(&body)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&body).into_owned())))
    }

    fn refuse(&mut self, message: &str) -> io::Result<()> {
        self.close();
        self.respond_error(400, message)?;
        // To close a socket with unread bytes is to reset it, and the reset could overtake the
        // answer. So the rest is read first.
        self.stream.shutdown(Shutdown::Write)?;
        self.stream.set_read_timeout(Some(LINGER))?;
        io::copy(&mut self.reader.by_ref().take(MAX_BODY_BYTES), &mut io::sink())?;
        Ok(())
    }

    /// The status line and the headers that all answers share.
    fn head(&self, status: u16, content_type: &str) -> String {
        let connection = if self.keep_alive { "keep-alive" } else { "close" };
        let reason = reason_phrase(status);
        format!(
            "HTTP/1.1 {status} {reason}\r\nconnection: {connection}\r\ncontent-type: {content_type}\r\n"
        )
    }
}

/// Reads a line of the head and removes its end.
fn read_line(head: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    head.read_line(&mut line)?;
    match line.strip_suffix('\n') {
        Some(content) => Ok(content.strip_suffix('\r').unwrap_or(content).to_owned()),
        None => Err(malformed("the head of the request is incomplete or too long")),
    }
}

fn has_token(request: &Request, name: &str, token: &str) -> bool {
    request.header(name).is_some_and(|value| value.eq_ignore_ascii_case(token))
}

fn malformed(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

fn reason_phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        529 => "Overloaded",
        _ => "Scripted",
    }
}
