//! The answers of providers: the streams of both protocols, and documents instead of them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::sync::LazyLock;

use agent::config::{Compat, Model, Rates, Secret};
use agent::message::{Content, Message};
use agent::message_of;
use agent::provider::Api;
use agent::provider::{Anthropic, OpenAi, Options, Piece, ProviderError};

use crate::assertions::{assert_clean, assert_reads_back};

const KEY: &str = "sk-secret-0123";

struct Providers {
    model: Model,
    anthropic: Anthropic,
    openai: OpenAi,
}

static PROVIDERS: LazyLock<Option<Providers>> = LazyLock::new(|| {
    let model = model();
    let key = || Some(Secret::new(KEY.to_owned()));
    let options = Options { proxy: Some(String::new()), ..Options::default() };
    let anthropic = Anthropic::new(model.clone(), key(), &options).ok()?;
    let openai = OpenAi::new(model.clone(), key(), &options).ok()?;
    Some(Providers { model, anthropic, openai })
});

/// The pieces of an answer, and how it ended.
type Answer = (Vec<Piece>, Result<(), ProviderError>);

/// The first byte is the length of the pieces in which the rest arrives.
pub(super) fn check(data: &[u8]) {
    let (Some(providers), Some((length, data))) = (&*PROVIDERS, data.split_first()) else {
        return;
    };
    let lengths = [usize::MAX, 1 + usize::from(*length)];
    let [anthropic, again] = lengths.map(|length| {
        read(|sink| providers.anthropic.read_answer(Pieces { rest: data, length }, sink))
    });
    assert_eq!(without_made_up(&anthropic), without_made_up(&again));
    assert_answer(providers, anthropic);
    let [openai, again] = lengths.map(|length| {
        read(|sink| providers.openai.read_answer(Pieces { rest: data, length }, sink))
    });
    assert_eq!(without_made_up(&openai), without_made_up(&again));
    assert_answer(providers, openai);
}

fn read(answer: impl FnOnce(&mut dyn FnMut(Piece)) -> Result<(), ProviderError>) -> Answer {
    let mut pieces = Vec::new();
    let result = answer(&mut |piece| pieces.push(piece));
    (pieces, result)
}

/// The answer without the ids that are made up for calls that have none: they differ every time.
fn without_made_up((pieces, result): &Answer) -> Answer {
    let pieces = pieces.iter().cloned().map(|piece| match piece {
        Piece::ToolCall { index, id, name } if is_made_up(&id) => {
            Piece::ToolCall { index, id: String::new(), name }
        }
        piece => piece,
    });
    (pieces.collect(), result.clone())
}

fn is_made_up(id: &str) -> bool {
    ["call_", "toolu_"].iter().any(|prefix| {
        id.strip_prefix(prefix).is_some_and(|uuid| uuid.len() == 32 && uuid.is_ascii())
    })
}

fn assert_answer(providers: &Providers, (pieces, result): Answer) {
    let ends = pieces.iter().filter(|piece| matches!(piece, Piece::Ended { .. })).count();
    match &result {
        Ok(()) => {
            assert_eq!(ends, 1, "an answer ends once");
            assert!(matches!(pieces.last(), Some(Piece::Ended { .. })), "{pieces:?}");
        }
        Err(error) => {
            assert_clean("an error", &error.message);
            assert!(!error.message.is_empty() && !error.message.contains(KEY), "{error:?}");
        }
    }
    let message = message_of(&providers.model, pieces);
    let mut ids = BTreeSet::new();
    for part in &message.content {
        if let Content::ToolCall { id, .. } = part {
            assert!(ids.insert(id), "two calls are called {id}");
        }
    }
    assert_reads_back(&Message::Assistant(message));
}

/// Bytes that arrive a few at a time.
struct Pieces<'a> {
    rest: &'a [u8],
    length: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.rest.len().min(self.length).min(buffer.len());
        let (piece, rest) = self.rest.split_at(length);
        buffer[..length].copy_from_slice(piece);
        self.rest = rest;
        Ok(length)
    }
}

fn model() -> Model {
    Model {
        provider: "fake".to_owned(),
        id: "fake-1".to_owned(),
        api: Api::OpenAiCompletions,
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        headers: BTreeMap::new(),
        reasoning: true,
        thinking_levels: BTreeMap::new(),
        images: true,
        context_window: 128_000,
        max_tokens: 4_096,
        rates: Rates { input: 3.0, output: 15.0, cache_read: 0.3, cache_write: 3.75 },
        sampling: serde_json::Map::new(),
        compat: Compat::default(),
    }
}
