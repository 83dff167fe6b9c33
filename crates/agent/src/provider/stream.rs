//! Reads the bytes of an answer.

use std::io::{self, BufRead as _, BufReader, Read};

use super::http::{self, Client};
use super::sse::{Event, MAXIMAL_BYTES, Parser, TooLong};
use super::{Piece, ProviderError};

/// The longest answer on the wire. A provider that never ends must not fill our memory.
const MAXIMAL_ANSWER_BYTES: usize = 256 * 1024 * 1024;

/// After more blanks than this at its beginning, an answer is taken for a stream.
const MAXIMAL_BLANKS: usize = 1024 * 1024;

/// Turns the events of a protocol into pieces.
pub(super) trait Decoder {
    fn event(&mut self, event: &Event, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError>;

    /// Takes an answer that is one JSON document instead of a stream.
    fn document(&mut self, text: &str, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError>;

    /// Whether the answer is complete, so that a broken connection does no harm.
    fn is_whole(&self) -> bool;

    fn end(&mut self, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError>;
}

/// Reads an answer to its end, so that its connection can be used again.
///
/// The first byte that is no blank tells what it is. Its headers are not always right.
pub(super) fn read(
    client: &Client,
    body: impl Read,
    decoder: &mut dyn Decoder,
    sink: &mut dyn FnMut(Piece),
) -> Result<(), ProviderError> {
    let mut body = BufReader::with_capacity(16 * 1024, body);
    // Some providers keep a connection alive with blanks until they answer.
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

/// Why an answer could not be read to its end.
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
            // Nothing is missing.
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
        // A torn event is no reason to lose a complete answer.
        match decoder.event(&event, sink) {
            Err(_) if decoder.is_whole() => {}
            result => result?,
        }
    }
    Ok(decoder.end(sink)?)
}
