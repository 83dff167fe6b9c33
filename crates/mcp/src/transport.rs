//! Messages as lines, in both directions.
//!
//! The SDK's own reader skips lines that it cannot parse, and answers without an id what it cannot
//! understand, so that the client waits for ever. Here every request is answered. Reading and writing
//! have a thread each: a client that does not read, or does not write, holds up nothing else. Its
//! requests wait until it reads again; see [`Flow`].

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use process::{Keep, Line, LineBuffer, ReadStatus};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, GetExtensions,
    GetMeta, ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, UnboundedReceiver, UnboundedSender};

use crate::flow::{AnswerSize, Flow};
use crate::tools_list::FULL;
use crate::worker::CallHandle;

/// How many lines wait to be written. Beyond that, their senders wait.
const LINES: usize = 64;

/// How often a reader that waits for room looks whether the client has closed its end.
const LOOKING: Duration = Duration::from_millis(100);

const BROKEN_HELLO: &str = "params: must have a protocolVersion, capabilities, and a clientInfo \
    with a name and a version";

/// Disconnected when nothing is left to be written.
pub(crate) type Written = mpsc::Receiver<()>;

/// The two streams of a client.
pub(crate) struct Streams {
    flow: Flow,
    /// Bounded by the flow.
    received: UnboundedReceiver<Received>,
    /// Requests, and complaints about lines, that have to wait until the client reads.
    waiting: VecDeque<Received>,
    /// Whether nothing more will be received.
    has_ended: bool,
    to_send: Sender<Vec<u8>>,
    handle: CallHandle,
    /// Whether the client has said hello. Before that, the SDK takes nothing but requests.
    is_begun: bool,
}

/// A line of the client's, and its length.
#[derive(Debug)]
struct Received {
    incoming: Incoming,
    bytes: usize,
}

/// What a line says.
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
        let flow = Flow::default();
        let (reader, received) = tokio::sync::mpsc::unbounded_channel();
        let (to_send, writer) = tokio::sync::mpsc::channel(LINES);
        let streams = Streams {
            flow: flow.clone(),
            received,
            waiting: VecDeque::new(),
            has_ended: false,
            to_send,
            handle: handle.clone(),
            is_begun: false,
        };
        let reading = Reading { input, reader, flow: flow.clone(), handle };
        thread::Builder::new().name("reader".to_owned()).spawn(move || {
            reading.read();
            reading.close();
        })?;
        let (writing, written) = mpsc::channel();
        thread::Builder::new().name("writer".to_owned()).spawn(move || {
            write(output, writer, &flow);
            drop(writing);
        })?;
        Ok((streams, written))
    }

    /// Takes a message that has arrived. Only what has to be answered can wait: a cancellation must not
    /// wait behind the answer that it is about, nor an answer of the client's behind its own requests.
    fn take(&mut self, received: Received) -> Option<ClientJsonRpcMessage> {
        let Received { incoming, bytes } = received;
        let message = match incoming {
            Incoming::Message(message) if !is_request(&message) => *message,
            waiting => {
                self.waiting.push_back(Received { incoming: waiting, bytes });
                return None;
            }
        };
        self.flow.skip(bytes);
        if let Some(id) = cancelled(&message)
            && let Some(waiting) = self.waiting.iter().position(|waiting| waiting.has_id(id))
        {
            let skipped = self.waiting.remove(waiting);
            self.flow.skip(skipped.map_or(0, |skipped| skipped.bytes));
            return None;
        }
        // The SDK takes a notification before the hello for the end of the conversation.
        self.is_begun.then_some(message)
    }

    /// The next request that can be begun. Complaints before it are sent.
    fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        let mut index = 0;
        while let Some(Received { incoming, bytes }) = self.waiting.get_mut(index) {
            match incoming {
                Incoming::Message(message) => {
                    if let Some(under_way) = self.flow.begin(*bytes, answer_size(message)) {
                        if let ClientJsonRpcMessage::Request(request) = &mut **message {
                            request.request.extensions_mut().insert(under_way);
                        }
                        let begun = self.waiting.remove(index)?;
                        let Incoming::Message(message) = begun.incoming else { return None };
                        self.is_begun |= begins(&message);
                        return Some(*message);
                    }
                    index += 1;
                }
                Incoming::Problem(..) if self.flow.can_answer() => {
                    let Received { incoming, bytes } = self.waiting.remove(index)?;
                    self.flow.skip(bytes);
                    if let Incoming::Problem(id, error) = incoming {
                        self.complain(id, error);
                    }
                }
                Incoming::Problem(..) => index += 1,
            }
        }
        None
    }

    fn complain(&self, id: Option<RequestId>, error: ErrorData) {
        let Ok(line) = line_of(&ServerJsonRpcMessage::error(error, id)) else { return };
        self.flow.send(line.len());
        // This must not wait: the SDK drops the future that it is called from when something else
        // happens.
        if let Err(TrySendError::Full(line)) = self.to_send.try_send(line) {
            let to_send = self.to_send.clone();
            tokio::spawn(async move { to_send.send(line).await });
        }
    }
}

impl Received {
    fn has_id(&self, id: &RequestId) -> bool {
        match &self.incoming {
            Incoming::Message(message) => match &**message {
                ClientJsonRpcMessage::Request(request) => request.id == *id,
                _ => false,
            },
            Incoming::Problem(..) => false,
        }
    }
}

impl Transport<RoleServer> for Streams {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let to_send = self.to_send.clone();
        let line = line_of(&message);
        self.flow.send(line.as_ref().map_or(0, Vec::len));
        async move { to_send.send(line?).await.map_err(|_| io::ErrorKind::BrokenPipe.into()) }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(message) = self.next() {
                return Some(message);
            }
            if self.has_ended && self.waiting.is_empty() {
                return None;
            }
            tokio::select! {
                received = self.received.recv(), if !self.has_ended => match received {
                    Some(received) => {
                        if let Some(message) = self.take(received) {
                            return Some(message);
                        }
                    }
                    None => self.has_ended = true,
                },
                () = self.flow.changed() => {}
                // A client that does not read any more is gone.
                () = self.to_send.closed() => {
                    self.handle.close();
                    return None;
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

fn is_request(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, ClientJsonRpcMessage::Request(_))
}

/// The request that the client does not wait for any more, if the message says so.
fn cancelled(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    let ClientJsonRpcMessage::Notification(message) = message else { return None };
    match &message.notification {
        ClientNotification::CancelledNotification(cancelled) => {
            cancelled.params.request_id.as_ref()
        }
        _ => None,
    }
}

fn answer_size(message: &ClientJsonRpcMessage) -> AnswerSize {
    let ClientJsonRpcMessage::Request(message) = message else { return AnswerSize::Short };
    let is_long = match &message.request {
        ClientRequest::ListResourcesRequest(_)
        | ClientRequest::ReadResourceRequest(_)
        | ClientRequest::CompleteRequest(_) => true,
        // Other answers to calls are cut.
        ClientRequest::CallToolRequest(request) => {
            let arguments = request.params.arguments.as_ref();
            arguments.is_some_and(|arguments| arguments.get(FULL) == Some(&Value::Bool(true)))
        }
        _ => false,
    };
    if is_long { AnswerSize::Long } else { AnswerSize::Short }
}

/// What the thread that reads works with.
struct Reading {
    input: OwnedFd,
    reader: UnboundedSender<Received>,
    flow: Flow,
    handle: CallHandle,
}

impl Reading {
    fn read(&self) {
        let mut lines = LineBuffer::new(|_| Keep::Whole);
        loop {
            while let Some(line) = lines.next_line() {
                let bytes = line.head().len();
                if let Some(incoming) = understand(line) {
                    self.wait_for_room(bytes);
                    if self.reader.send(Received { incoming, bytes }).is_err() {
                        return;
                    }
                }
            }
            match lines.read_from(&self.input) {
                Ok(ReadStatus::Bytes(_)) => {}
                // The client can make our end of the pipe nonblocking.
                Ok(ReadStatus::WouldBlock) => {
                    let _ = poll(&mut [PollFd::new(&self.input, PollFlags::IN)], None);
                }
                Ok(ReadStatus::EndOfFile) | Err(_) => return,
            }
        }
    }

    /// Waits until another message may be read, or the client has closed its end: what it has sent
    /// before is still served, but it does not wait for room any more.
    fn wait_for_room(&self, bytes: usize) {
        while !self.flow.wait_to_read(bytes, LOOKING) {
            let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
            let mut fds = [PollFd::new(&self.input, closing())];
            let polled = poll(&mut fds, Some(&at_once));
            if polled.is_ok_and(|ready| ready > 0) && fds[0].revents().intersects(closing()) {
                self.close();
            }
        }
    }

    fn close(&self) {
        self.flow.close();
        self.handle.close();
    }
}

/// What is reported of a pipe or socket whose other end is closed, even if there is more to read.
fn closing() -> PollFlags {
    #[cfg(target_os = "linux")]
    return PollFlags::HUP | PollFlags::RDHUP;
    #[cfg(not(target_os = "linux"))]
    PollFlags::HUP
}

fn write(mut output: Box<dyn Write + Send>, mut writer: Receiver<Vec<u8>>, flow: &Flow) {
    while let Some(line) = writer.blocking_recv() {
        if output.write_all(&line).and_then(|()| output.flush()).is_err() {
            return;
        }
        flow.sent(line.len());
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

fn id_of_cut(head: &[u8], tail: &[u8]) -> Option<RequestId> {
    serde_json::from_value(tools::id_of_cut_message(head, tail)?).ok()
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
