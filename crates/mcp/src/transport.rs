//! Messages as lines, in both directions.
//!
//! The SDK's own reader skips lines that it cannot parse, and answers without an id what it cannot
//! understand, so that the client waits for ever. Here every request is answered. Reading and writing
//! have a thread each: a client that does not read, or does not write, holds up nothing else.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::mpsc;
use std::thread;

use process::{Keep, Line, LineBuffer, ReadStatus};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, GetMeta, ProtocolVersion, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::Value;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::worker::CallHandle;

/// How many messages a channel holds. Beyond that, its sender waits.
const WAITING: usize = 64;

const BROKEN_HELLO: &str = "params: must have a protocolVersion, capabilities, and a clientInfo \
    with a name and a version";

/// Disconnected when nothing is left to be written.
pub(crate) type Written = mpsc::Receiver<()>;

/// The two streams of a client.
pub(crate) struct Streams {
    received: Receiver<Incoming>,
    to_send: Sender<Vec<u8>>,
    handle: CallHandle,
    /// Whether the client has said hello. Before that, the SDK takes nothing but requests.
    is_begun: bool,
}

/// A line of the client's.
#[derive(Debug)]
enum Incoming {
    Message(Box<ClientJsonRpcMessage>),
    /// The line is no message, for this reason.
    Problem(Option<RequestId>, ErrorData),
}

impl Streams {
    /// Reads and writes from now on. The worker gets to know when there is nothing to read any more.
    pub(crate) fn open(
        input: OwnedFd,
        output: Box<dyn Write + Send>,
        handle: CallHandle,
    ) -> io::Result<(Streams, Written)> {
        let (reader, received) = channel(WAITING);
        let (to_send, writer) = channel(WAITING);
        let streams = Streams { received, to_send, handle: handle.clone(), is_begun: false };
        thread::Builder::new().name("reader".to_owned()).spawn(move || {
            read(&input, &reader);
            handle.close();
        })?;
        let (writing, written) = mpsc::channel();
        thread::Builder::new().name("writer".to_owned()).spawn(move || {
            write(output, writer);
            drop(writing);
        })?;
        Ok((streams, written))
    }
}

impl Transport<RoleServer> for Streams {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let to_send = self.to_send.clone();
        async move {
            let line = line_of(&message)?;
            to_send.send(line).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let incoming = tokio::select! {
                incoming = self.received.recv() => incoming?,
                // A client that does not read any more is gone.
                () = self.to_send.closed() => {
                    self.handle.close();
                    return None;
                }
            };
            match incoming {
                Incoming::Message(message) => {
                    self.is_begun |= begins(&message);
                    // The SDK takes a notification before the hello for the end of the conversation.
                    if self.is_begun || matches!(*message, ClientJsonRpcMessage::Request(_)) {
                        return Some(*message);
                    }
                }
                Incoming::Problem(id, error) => {
                    let line = line_of(&ServerJsonRpcMessage::error(error, id)).ok()?;
                    // The SDK drops this future when something else happens, so that it must not
                    // wait while it holds an answer.
                    if let Err(TrySendError::Full(line)) = self.to_send.try_send(line) {
                        let to_send = self.to_send.clone();
                        tokio::spawn(async move { to_send.send(line).await });
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.received.close();
        Ok(())
    }
}

/// Whether the SDK lets a conversation begin with this message: a hello, or a request that names its
/// sender.
fn begins(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Request(message) = message else {
        return false;
    };
    match &message.request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => {
            let meta = request.get_meta();
            let version = meta.protocol_version();
            meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
                && version.is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version))
        }
    }
}

fn read(input: &OwnedFd, reader: &Sender<Incoming>) {
    let mut lines = LineBuffer::new(|_| Keep::Whole);
    loop {
        while let Some(line) = lines.next_line() {
            if let Some(incoming) = understand(line)
                && reader.blocking_send(incoming).is_err()
            {
                return;
            }
        }
        match lines.read_from(input) {
            Ok(ReadStatus::Bytes(_)) => {}
            // The client can make our end of the pipe nonblocking.
            Ok(ReadStatus::WouldBlock) => {
                let _ = poll(&mut [PollFd::new(input, PollFlags::IN)], None);
            }
            Ok(ReadStatus::EndOfFile) | Err(_) => return,
        }
    }
}

fn write(mut output: Box<dyn Write + Send>, mut writer: Receiver<Vec<u8>>) {
    while let Some(line) = writer.blocking_recv() {
        if output.write_all(&line).and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

fn line_of(message: &ServerJsonRpcMessage) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// What a line says; nothing if the client expects no answer to it.
fn understand(line: Line<'_>) -> Option<Incoming> {
    let line = match line {
        Line::Whole(line) => line.trim_ascii(),
        Line::Cut { head, tail, bytes } => {
            let error = invalid(format!("a message of {bytes} bytes is too long; 16 MiB are read"));
            return Some(Incoming::Problem(id_of_cut(head, tail), error));
        }
    };
    if line.is_empty() {
        return None;
    }
    if let Ok(message) = serde_json::from_slice(line) {
        return Some(match id_of_broken_hello(&message) {
            Some(id) => Incoming::Problem(Some(id), ErrorData::invalid_params(BROKEN_HELLO, None)),
            None => Incoming::Message(Box::new(message)),
        });
    }
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            let message = format!("this is not JSON: {error}");
            let error = ErrorData::new(ErrorCode::PARSE_ERROR, message, None);
            return Some(Incoming::Problem(None, error));
        }
    };
    let Value::Object(fields) = &value else {
        let error = invalid("a message is one JSON object in one line".to_owned());
        return Some(Incoming::Problem(None, error));
    };
    let id = fields.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
    let problem = if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        "jsonrpc: must be \"2.0\""
    } else if !fields.contains_key("method") {
        // Answers are never answered: their ids are ours, and a request of the client may have the same.
        let is_answer = fields.contains_key("result") || fields.contains_key("error");
        if is_answer || !fields.contains_key("id") {
            return None;
        }
        "method: is missing"
    } else if !fields["method"].is_string() {
        "method: must be a text"
    } else if fields.contains_key("id") && id.is_none() {
        "id: must be a text or a number"
    } else if id.is_none() {
        // A notification is never answered.
        return None;
    } else {
        "params: must be an object"
    };
    Some(Incoming::Problem(id, invalid(problem.to_owned())))
}

/// The SDK takes a hello that lacks something for an unknown method, and would complain of that.
fn id_of_broken_hello(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        ClientJsonRpcMessage::Request(message) => match &message.request {
            ClientRequest::CustomRequest(request) if request.method == "initialize" => {
                Some(message.id.clone())
            }
            _ => None,
        },
        _ => None,
    }
}

fn invalid(message: String) -> ErrorData {
    ErrorData::invalid_request(message, None)
}

/// The id of a message of which only the beginning and the end are known. The first fields and the last
/// one of a line always belong to the message itself.
fn id_of_cut(head: &[u8], tail: &[u8]) -> Option<RequestId> {
    let read = |text: &str| serde_json::from_str(text.trim()).ok();
    let head = String::from_utf8_lossy(head);
    let first: Vec<&str> = head.trim_start().trim_start_matches('{').splitn(3, ',').collect();
    let in_front = first.iter().take(2).find_map(|field| {
        let (name, value) = field.split_once(':')?;
        (name.trim() == "\"id\"").then(|| read(value)).flatten()
    });
    in_front.or_else(|| {
        let tail = String::from_utf8_lossy(tail);
        let (_, last) = tail.trim_end().strip_suffix('}')?.rsplit_once(',')?;
        let (name, value) = last.split_once(':')?;
        (name.trim() == "\"id\"").then(|| read(value)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(line: &str) -> (Option<RequestId>, i32, String) {
        match understand(Line::Whole(line.as_bytes())) {
            Some(Incoming::Problem(id, error)) => (id, error.code.0, error.message.into_owned()),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn what_is_no_message_is_answered_with_the_reason() {
        for (line, id, code, part) in [
            ("hello", None, -32700, "not JSON"),
            ("{\"jsonrpc\": \"2.0\", \"id\": 1, \"met", None, -32700, "not JSON"),
            ("\u{feff}{}", None, -32700, "not JSON"),
            ("[]", None, -32600, "one JSON object"),
            ("7", None, -32600, "one JSON object"),
            (r#"{"id":1,"method":"ping"}"#, Some(1), -32600, "jsonrpc: must be \"2.0\""),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, Some(1), -32600, "jsonrpc"),
            (r#"{"jsonrpc":"2.0","id":4}"#, Some(4), -32600, "method: is missing"),
            (r#"{"jsonrpc":"2.0","id":4,"method":7}"#, Some(4), -32600, "method: must be a text"),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, None, -32600, "id: must be"),
        ] {
            let (given, given_code, message) = problem(line);
            assert_eq!(given, id.map(RequestId::Number), "{line}");
            assert_eq!(given_code, code, "{line}");
            assert!(message.contains(part), "{line}: {message}");
        }
    }

    #[test]
    fn a_line_that_expects_no_answer_is_skipped() {
        for line in ["", "  ", r#"{"jsonrpc":"2.0"}"#, r#"{"jsonrpc":"2.0","id":0,"error":"no"}"#] {
            assert!(understand(Line::Whole(line.as_bytes())).is_none(), "{line}");
        }
    }

    #[test]
    fn too_long_a_message_is_refused_by_its_id() {
        let cut = |head: &'static str, tail: &'static str| {
            let (head, tail) = (head.as_bytes(), tail.as_bytes());
            match understand(Line::Cut { head, tail, bytes: 20_000_000 }) {
                Some(Incoming::Problem(id, error)) => (id, error.message.into_owned()),
                other => panic!("{other:?}"),
            }
        };
        let number = |number| Some(RequestId::Number(number));
        let (id, message) = cut(r#"{"jsonrpc":"2.0","id":3,"method":"#, r#""}}}"#);
        assert_eq!(id, number(3));
        assert!(message.contains("20000000 bytes"), "{message}");
        assert_eq!(cut(r#"{ "id": "a", "x":"#, "}").0, Some(RequestId::String("a".into())));
        assert_eq!(cut(r#"{"method":"x","params""#, r#"}},"jsonrpc":"2.0","id":9}"#).0, number(9));
        // An id further inside is that of something else.
        assert_eq!(cut(r#"{"method":"x","params":{"id":9,"#, r#""id":9}}"#).0, None);
    }
}
