//! A model provider on loopback that plays a script, for testing coding agents without a network.
//!
//! [`FakeLlm`] speaks the chat completions API and the responses API of OpenAI, the messages API of Anthropic, and
//! the API of Gemini, over HTTP/1.1, streamed or whole. The conversation, and not the server, decides what the
//! model says: the script is part of a prompt, between `<<SCRIPT>>` and `<<END>>`, so that any number
//! of agents can run against one server in parallel, each with its own script. The same script can be played in every protocol.
//!
//! # Which turn is played
//!
//! A script is a JSON array of turns. It is taken from the last `user` message that contains one;
//! the number of `assistant` messages after that message is the index of the turn. A conversation
//! without a script gets the default script of the server, and past its last turn every script goes
//! on with the text `(end of script)`. A script that does not parse is answered with status 400.
//!
//! # What a turn can hold
//!
//! All fields are optional; unknown ones are an error.
//!
//! | field | meaning |
//! |---|---|
//! | `"text": "..."` | what the model says; see below for what is filled in |
//! | `"thinking": "..."` | what it thinks before, as `reasoning_content`, as a signed block, as a summary or as a thought |
//! | `"tools": [{"name": "ls", "args": {}}]` | the tool calls, all in one message; `"id"` names a call, `"arguments"` is sent in the place of `args`, as it is (to Gemini's clients as a string, if it is no JSON), and in the responses API `"namespace"` names the group of a tool, and `"input"` makes it a custom tool with this text |
//! | `"chunk": 20` | how many characters a delta carries |
//! | `"delay_ms": 0` | how long to wait between two deltas |
//! | `"usage": {"input": 100, "output": 20, "cached": 0, "written": 0, "thinking": 0}` | the token counts; `input` includes `cached` and `written`, `output` includes `thinking` |
//! | `"finish": "length"` | the finish reason, if it is not `stop` or `tool_calls`; Anthropic's and Gemini's words are put for these three. In the responses API, any other reason makes the answer `incomplete`, and `failed` ends it with `error_message` |
//! | `"error": 429` | answer with this HTTP status instead |
//! | `"error_message": "..."` | the words of that answer, if they are not `scripted error`; `{{key}}` in them stands for the key that the client has sent |
//! | `"error_type": "..."` | what that error is called (its type, code or status), if not by the usual name |
//! | `"headers": {"x-should-retry": "false"}` | more headers of that answer |
//! | `"retry_after": 1` | the `Retry-After` header of that answer, in seconds, and what Gemini puts into its body |
//! | `"times": 2` | give the error to the first attempts only, then play the turn |
//! | `"hang": true` | send the head of the answer, then nothing more |
//! | `"stall": true` | send everything that the model says, then nothing more |
//! | `"cut": true` | close the connection in the middle of the answer |
//! | `"unfinished": true` | end the stream in good order, but without what should end it |
//! | `"garbage": "..."` | send this, as it is, in place of the first event after the beginning |
//! | `"page": "..."` | answer with this web page instead, and status 200 |
//!
//! A server that was started with [`FakeLlm::start_sequence`] does not look at conversations: the first
//! request gets the first turn, the second request the second. That is for clients that change their
//! conversation, for example by compacting it.
//!
//! Attempts are counted per server, by the text of the script and the index of the turn.
//!
//! In `text`, `{{prompt}}` stands for the last user message without its script, and `{{result:N}}`
//! for the text of tool message number N (from 0) after the script. The `tool_result` blocks of
//! Anthropic's user messages count as tool messages, and so do the outputs of calls in the responses API and
//! Gemini's function responses. In the last two, everything of the model that stands together counts as one
//! `assistant` message.
//!
//! # Routes
//!
//! - `POST /v1/chat/completions`. A stream always has a usage chunk, asked for or not.
//! - `POST /v1/messages`.
//! - `POST /v1/responses`.
//! - `POST /v1beta/models/MODEL:generateContent`, and `:streamGenerateContent`, which always streams as with `alt=sse`.
//! - `GET /v1/models`.
//! - `GET /requests`: what [`FakeLlm::requests`] returns, for clients in other languages.

mod api;
mod completion;
mod content;
mod http;
mod message;
mod reply;
mod response;
mod script;
mod service;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

pub use self::http::Request;
pub(crate) use self::script::script_in;
use self::service::Service;

/// How long to wait before a retry when there are no free file descriptors.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Runs the server as a program: `fake-llm [--port N] [--script FILE]`.
///
/// `arguments` come without the name of the program. The base URL is the first line of `output`;
/// the server then runs until `input` ends.
pub fn main(
    arguments: impl IntoIterator<Item = String>,
    input: &mut dyn Read,
    output: &mut dyn Write,
) -> io::Result<()> {
    let invalid_input = |message| io::Error::new(io::ErrorKind::InvalidInput, message);
    let mut port = 0;
    let mut script = json!([]);
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.next()) {
            ("--port", Some(value)) => {
                port = value
                    .parse()
                    .map_err(|error| invalid_input(format!("--port {value}: {error}")))?;
            }
            ("--script", Some(path)) => script = serde_json::from_slice(&fs::read(path)?)?,
            _ => {
                return Err(invalid_input(format!(
                    "cannot use {argument:?}; usage: fake-llm [--port N] [--script FILE]"
                )));
            }
        }
    }

    let server = FakeLlm::start_on(port, &script)?;
    writeln!(output, "{}", server.base_url())?;
    output.flush()?;
    io::copy(input, &mut io::sink())?;
    Ok(())
}

/// A running server. Dropping it closes every connection, whatever it waits for, and joins every
/// thread.
#[derive(Debug)]
pub struct FakeLlm {
    address: SocketAddr,
    service: Arc<Service>,
    /// The accepting thread; it is taken when the server is dropped.
    acceptor: Option<JoinHandle<()>>,
}

impl FakeLlm {
    /// Starts a server on a free port of 127.0.0.1, for prompts that bring their own script.
    pub fn start() -> io::Result<Self> {
        Self::start_with(&json!([]))
    }

    /// Starts a server that plays `script` to conversations without a script of their own.
    pub fn start_with(script: &Value) -> io::Result<Self> {
        Self::start_on(0, script)
    }

    /// Starts a server that plays one turn of `script` after the other, whatever the conversations are.
    pub fn start_sequence(script: &Value) -> io::Result<Self> {
        Self::start_service(0, Service::of_sequence(script)?)
    }

    fn start_on(port: u16, script: &Value) -> io::Result<Self> {
        Self::start_service(port, Service::new(script)?)
    }

    fn start_service(port: u16, service: Service) -> io::Result<Self> {
        let service = Arc::new(service);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let acceptor = spawn(address, {
            let service = Arc::clone(&service);
            move || accept_until_stopped(listener, address, &service)
        })?;
        Ok(Self { address, service, acceptor: Some(acceptor) })
    }

    /// The URL under which clients find the API: `http://127.0.0.1:PORT/v1`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The URL of the server itself, which clients of Anthropic want: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn root_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every well-formed request so far, in the order of arrival, except for `GET /requests`.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.service.requests()
    }

    /// How many requests [`FakeLlm::requests`] would return.
    #[must_use]
    pub fn request_count(&self) -> usize {
        self.service.request_count()
    }

    /// Answers only so many requests in each window of time, and the others with 429.
    pub fn limit(&self, requests: u32, window: Duration) {
        let limit = service::RateLimit { requests, window, began: None, used: 0, refused: 0 };
        *service::lock(&self.service.limit) = Some(limit);
    }

    /// How many requests were one too many.
    #[must_use]
    pub fn refused(&self) -> u64 {
        service::lock(&self.service.limit).as_ref().map_or(0, |limit| limit.refused)
    }

    /// How many connections there were so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.service.connections.load(Ordering::Relaxed)
    }
}

impl Drop for FakeLlm {
    fn drop(&mut self) {
        self.service.stop.request();
        let Some(acceptor) = self.acceptor.take() else { return };
        // A thread that waits in `accept` can only be woken by a connection. Where none can be
        // made, either the thread has seen the request already, or descriptors have run out.
        while TcpStream::connect(self.address).is_err() && !acceptor.is_finished() {
            thread::sleep(RETRY_INTERVAL);
        }
        // The error would be a panic, which the thread itself has already reported.
        let _ = acceptor.join();
    }
}

/// A connection, as the accepting thread sees it.
struct Client {
    /// Weak, so that a socket closes when the thread that serves it is done.
    stream: Weak<TcpStream>,
    thread: JoinHandle<()>,
}

/// Serves each connection on a thread of its own; when asked to stop, ends and joins them all.
fn accept_until_stopped(listener: TcpListener, address: SocketAddr, service: &Arc<Service>) {
    let mut clients: Vec<Client> = Vec::new();
    loop {
        let accepted = listener.accept();
        if service.stop.is_requested() {
            break;
        }
        clients.retain(|client| !client.thread.is_finished());
        match accepted.and_then(|(stream, _)| serve(stream, address, service)) {
            Ok(client) => clients.push(client),
            Err(_) => thread::sleep(RETRY_INTERVAL),
        }
    }

    drop(listener);
    for stream in clients.iter().filter_map(|client| client.stream.upgrade()) {
        // This wakes a thread that reads or writes. An error means that the client has disconnected.
        let _ = stream.shutdown(Shutdown::Both);
    }
    for client in clients {
        let _ = client.thread.join();
    }
}

fn serve(stream: TcpStream, address: SocketAddr, service: &Arc<Service>) -> io::Result<Client> {
    let stream = Arc::new(stream);
    let weak_stream = Arc::downgrade(&stream);
    let service = Arc::clone(service);
    let thread = spawn(address, move || {
        // An error means that the client has disconnected, which it may do.
        let _ = service.serve(&stream);
    })?;
    Ok(Client { stream: weak_stream, thread })
}

/// Starts a thread under a name that tells which server it belongs to.
fn spawn(address: SocketAddr, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(format!("fake-llm-{}", address.port())).spawn(body)
}
