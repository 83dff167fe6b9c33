//! The answers of providers: the streams of all protocols, and documents instead of them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::sync::LazyLock;

use agent::config::{Compat, Model, Rates, Secret};
use agent::message::{Content, Message};
use agent::message_of;
use agent::provider::Api;
use agent::provider::{HttpProvider, Options, Piece, ProviderError};

use crate::assertions::{assert_clean, assert_reads_back};

const KEY: &str = "sk-secret-0123";

/// The models of a target: one for each protocol, and how it is asked.
type Providers = Vec<(Model, HttpProvider)>;

/// The older protocols, of which any input is given to both.
pub(super) fn check(data: &[u8]) {
    static PROVIDERS: LazyLock<Providers> =
        LazyLock::new(|| providers(&[Api::AnthropicMessages, Api::OpenAiCompletions]));
    check_all(&PROVIDERS, data);
}

pub(super) fn check_responses(data: &[u8]) {
    static PROVIDERS: LazyLock<Providers> = LazyLock::new(|| providers(&[Api::OpenAiResponses]));
    check_all(&PROVIDERS, data);
}

pub(super) fn check_gemini(data: &[u8]) {
    static PROVIDERS: LazyLock<Providers> = LazyLock::new(|| providers(&[Api::GoogleGenerativeAi]));
    check_all(&PROVIDERS, data);
}

fn providers(apis: &[Api]) -> Providers {
    let options = Options { proxy: Some(String::new()), ..Options::default() };
    let provider = |api: &Api| {
        let model = Model { api: *api, ..model() };
        let key = Some(Secret::new(KEY.to_owned()));
        Some((model.clone(), HttpProvider::new(model, key, &options).ok()?))
    };
    apis.iter().filter_map(provider).collect()
}

/// The pieces of an answer, and how it ended.
type Answer = (Vec<Piece>, Result<(), ProviderError>);

/// The first byte is the length of the pieces in which the rest arrives.
fn check_all(providers: &Providers, data: &[u8]) {
    let Some((length, data)) = data.split_first() else { return };
    for (model, provider) in providers {
        let lengths = [usize::MAX, 1 + usize::from(*length)];
        let [answer, again] = lengths
            .map(|length| read(|sink| provider.read_answer(Pieces { rest: data, length }, sink)));
        assert_eq!(without_made_up(&answer), without_made_up(&again));
        assert_answer(model, answer);
    }
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

fn assert_answer(model: &Model, (pieces, result): Answer) {
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
    let message = message_of(model, pieces);
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
        rates: Some(Rates {
            input: 3.0,
            output: 15.0,
            cache_read: 0.3,
            cache_write: 3.75,
            above: Some((1_000, [6.0, 22.5, 0.6, 7.5])),
        }),
        sampling: serde_json::Map::new(),
        compat: Compat::default(),
        azure: None,
    }
}
