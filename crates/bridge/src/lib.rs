//! The other end of the extension for pi: the eight tools, `/profile`, `/agents` and the notifications, as
//! JSON-RPC over two streams.
//!
//! The extension passes messages on and draws lines; everything is decided here. Both ends send
//! requests: calls of tools come from pi, and questions to its user go there. The bridge ends when its
//! input does, and with it the lifelines of all foreground runs.

mod agents;
mod call;
mod client;
mod dialogs;
mod handshake;
mod message;
mod server;
mod wire;

use std::io::{self, Write};
use std::os::fd::BorrowedFd;

use plan::{Surroundings, SurroundingsError};
use process::{Keep, LineBuffer, ReadStatus};
use serde_json::json;

pub use self::handshake::PROTOCOL;

use self::client::Client;
use self::handshake::{Hello, Problem, read_hello};
use self::message::{INVALID_PARAMS, Incoming, METHOD_NOT_FOUND, MISMATCH};
use self::server::Server;

/// The bridge cannot do its work.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum BridgeError {
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Surroundings(#[from] SurroundingsError),
    #[error("what the extension says cannot be read: {0}")]
    Input(io::Error),
}

/// Serves one pi, until it closes the input. The surroundings are looked up after the first message, so
/// that their errors do not keep the extension from an answer to it.
pub fn serve_in(
    surroundings: impl FnOnce() -> Result<Surroundings, SurroundingsError>,
    input: BorrowedFd<'_>,
    output: Box<dyn Write + Send>,
) -> Result<(), BridgeError> {
    let client = Client::new(output);
    let mut lines = LineBuffer::with_longest(|_| Keep::Whole, message::LONGEST);
    let Some(hello) = await_hello(&mut lines, input, &client)? else {
        return Ok(());
    };
    let server = Server::new(hello, surroundings()?, client.clone());
    let served = server.run(&mut lines, input).map_err(BridgeError::Input);
    // A command that asks the user something ends without an answer.
    client.hang_up();
    served
}

/// Waits for the first message. Nothing if none comes.
fn await_hello(
    lines: &mut LineBuffer,
    input: BorrowedFd<'_>,
    client: &Client,
) -> Result<Option<Hello>, BridgeError> {
    loop {
        while let Some(line) = lines.next_line() {
            match message::parse(line) {
                Incoming::Request { id, method, params } if method == "initialize" => {
                    return match read_hello(params) {
                        Ok(hello) => {
                            let version = env!("CARGO_PKG_VERSION");
                            client.answer(&id, &json!({"protocol": PROTOCOL, "version": version}));
                            Ok(Some(hello))
                        }
                        Err((problem, message)) => {
                            let code = match problem {
                                Problem::Mismatch => MISMATCH,
                                Problem::Params => INVALID_PARAMS,
                            };
                            client.refuse(&id, code, &message);
                            Err(BridgeError::Refused(message))
                        }
                    };
                }
                Incoming::Request { id, method, .. } => {
                    client.refuse(&id, METHOD_NOT_FOUND, &format!("{method} before initialize"));
                }
                Incoming::Garbage { id, code, message } => client.refuse(&id, code, &message),
                Incoming::Notification { .. } | Incoming::Answer { .. } => {}
            }
        }
        if lines.read_from(input).map_err(BridgeError::Input)? == ReadStatus::EndOfFile {
            return Ok(None);
        }
    }
}
