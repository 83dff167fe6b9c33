//! From the bytes of an answer to its pieces.

use std::io::{self, BufRead as _, BufReader, Read};

use super::http::{self, Client};
use super::sse::{Event, MAXIMAL_BYTES, Parser, TooLong};
use super::{Piece, ProviderError};

/// How long an answer may be as it comes over the wire. A provider that never ends would otherwise
/// fill our memory.
const MAXIMAL_ANSWER_BYTES: usize = 256 * 1024 * 1024;

/// How many blanks in front of an answer are waited for. Behind more of them, it is taken for a stream.
const MAXIMAL_BLANKS: usize = 1024 * 1024;

/// How a protocol reads the events of an answer.
pub(super) trait Decoder {
    /// Takes an event.
    fn event(&mut self, event: &Event, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError>;

    /// Takes an answer that is no stream but one JSON document.
    fn document(&mut self, text: &str, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError>;

    /// Whether nothing of the answer is missing, whatever becomes of the connection.
    fn is_whole(&self) -> bool;

    /// Takes the end of the answer.
    fn end(&mut self, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError>;
}

/// Reads an answer to its end, so that its connection can be used again.
///
/// What it is shows in its first byte that is no blank. What its headers say of it is not always true.
pub(super) fn read(
    client: &Client,
    body: impl Read,
    decoder: &mut dyn Decoder,
    sink: &mut dyn FnMut(Piece),
) -> Result<(), ProviderError> {
    let mut body = BufReader::with_capacity(16 * 1024, body);
    // Some keep a connection alive with blanks until they know what to say.
    let mut blanks = Vec::new();
    let first = loop {
        let start = body.fill_buf().map_err(|error| client.cut(error))?;
        let first = start.iter().find(|byte| !byte.is_ascii_whitespace()).copied();
        let length = start.len();
        if first.is_some() || length == 0 || blanks.len() > MAXIMAL_BLANKS {
            break first;
        }
        blanks.extend_from_slice(start);
        body.consume(length);
    };
    let mut body = blanks.as_slice().chain(body);
    let result = match first {
        Some(b'{' | b'[') => read_document(&mut body, decoder, sink),
        Some(b'<') => {
            let (text, _) = http::read_text(&mut body);
            Err(ProviderError::permanent(format!("Not a model but a web page answered: {text}"))
                .into())
        }
        _ => read_events(&mut body, decoder, sink),
    };
    result.map_err(|broken| match broken {
        Broken::Cut(error) => client.cut(error),
        Broken::Wrong(error) => client.shown(error),
    })
}

fn read_document(
    body: &mut dyn Read,
    decoder: &mut dyn Decoder,
    sink: &mut dyn FnMut(Piece),
) -> Result<(), Broken> {
    let (text, read) = http::read_text(body);
    read.map_err(Broken::Cut)?;
    decoder.document(&text, sink)?;
    Ok(decoder.end(sink)?)
}

/// Why an answer cannot be read to its end.
#[derive(Debug)]
pub(super) enum Broken {
    Cut(io::Error),
    Wrong(ProviderError),
}

impl From<ProviderError> for Broken {
    fn from(error: ProviderError) -> Broken {
        Broken::Wrong(error)
    }
}

impl From<TooLong> for Broken {
    fn from(TooLong: TooLong) -> Broken {
        let mebibytes = MAXIMAL_BYTES / 1024 / 1024;
        Broken::Wrong(ProviderError::permanent(format!(
            "The provider sent an event of more than {mebibytes} MiB"
        )))
    }
}

/// Reads events until there are no more.
pub(super) fn read_events(
    bytes: &mut dyn Read,
    decoder: &mut dyn Decoder,
    sink: &mut dyn FnMut(Piece),
) -> Result<(), Broken> {
    let mut parser = Parser::default();
    let mut buffer = vec![0; 16 * 1024];
    let mut total = 0;
    loop {
        let count = match bytes.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // Whatever was said, was said.
            Err(_) if decoder.is_whole() => 0,
            Err(error) => return Err(Broken::Cut(error)),
        };
        if count == 0 {
            break;
        }
        total += count;
        if total > MAXIMAL_ANSWER_BYTES {
            return Err(ProviderError::permanent("The provider does not stop talking").into());
        }
        let mut rest = &buffer[..count];
        while let Some(event) = parser.next(&mut rest)? {
            decoder.event(&event, sink)?;
        }
    }
    if let Some(event) = parser.finish()? {
        // Half an event is no reason to lose an answer that is whole.
        match decoder.event(&event, sink) {
            Err(_) if decoder.is_whole() => {}
            result => result?,
        }
    }
    Ok(decoder.end(sink)?)
}
