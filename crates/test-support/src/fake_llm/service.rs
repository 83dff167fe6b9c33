//! What the server answers to a request, and what it remembers between requests.

use std::collections::HashMap;
use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::api::Api;
use super::http::{Connection, Request};
use super::reply::{Failure, Protocol, Reply};
use super::script::{self, Step, Turn};

/// The model that the server claims to have. Any other name is accepted, too.
const MODEL: &str = "fake-1";

/// The state of a server, shared by its connections.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) stop: StopSignal,
    pub(super) connections: AtomicU64,
    default_script: String,
    /// The number of the next turn, if turns are played in the order of the requests.
    sequence: Option<AtomicUsize>,
    requests: Mutex<Vec<Request>>,
    /// How often each turn that has an error was asked for, by script and index.
    attempts: Mutex<HashMap<(String, usize), u64>>,
    completions: AtomicU64,
    pub(super) limit: Mutex<Option<RateLimit>>,
}

/// So many requests in each window of time, which begins with the first request after the one before.
#[derive(Debug)]
pub(super) struct RateLimit {
    pub(super) requests: u32,
    pub(super) window: Duration,
    pub(super) began: Option<Instant>,
    pub(super) used: u32,
    pub(super) refused: u64,
}

impl RateLimit {
    /// How long to wait, if this request is one too many.
    fn refuse(&mut self, now: Instant) -> Option<Duration> {
        if self.began.is_none_or(|began| now >= began + self.window) {
            (self.began, self.used) = (Some(now), 0);
        }
        if self.used < self.requests {
            self.used += 1;
            return None;
        }
        self.refused += 1;
        self.began.map(|began| (began + self.window).saturating_duration_since(now))
    }
}

impl Service {
    pub(super) fn new(default_script: &Value) -> io::Result<Self> {
        let default_script = default_script.to_string();
        script::parse_script(&default_script)?;
        Ok(Self {
            stop: StopSignal::default(),
            connections: AtomicU64::new(0),
            default_script,
            sequence: None,
            requests: Mutex::default(),
            attempts: Mutex::default(),
            completions: AtomicU64::new(0),
            limit: Mutex::default(),
        })
    }

    pub(super) fn of_sequence(script: &Value) -> io::Result<Self> {
        Ok(Self { sequence: Some(AtomicUsize::new(0)), ..Self::new(script)? })
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        lock(&self.requests).clone()
    }

    pub(super) fn request_count(&self) -> usize {
        lock(&self.requests).len()
    }

    /// Answers the requests of one connection until it ends.
    pub(super) fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        self.connections.fetch_add(1, Ordering::Relaxed);
        let mut connection = Connection::new(stream)?;
        while let Some(request) = connection.next_request()? {
            self.answer(&request, &mut connection)?;
        }
        Ok(())
    }

    fn answer(&self, request: &Request, connection: &mut Connection<'_>) -> io::Result<()> {
        let (path, _query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let route = (request.method.as_str(), path);
        // This is not recorded itself: a client that polls must not change what it polls for.
        if route == ("GET", "/requests") {
            return connection.respond(200, &[], &json!(self.requests()).to_string());
        }
        lock(&self.requests).push(request.clone());
        match (route, Api::at(path)) {
            (("POST", path), Some(api)) => self.complete(api, path, request, connection),
            (("GET", "/v1/models"), _) => connection.respond(200, &[], &models().to_string()),
            ((method, path), _) => {
                connection.respond_error(404, &format!("no such route: {method} {path}"))
            }
        }
    }

    fn complete(
        &self,
        api: Api,
        path: &str,
        request: &Request,
        connection: &mut Connection<'_>,
    ) -> io::Result<()> {
        let body = &request.body;
        let mut refuse = |message: &str| {
            let failure = Failure { status: 400, message, kind: None, retry_after: None };
            connection.respond(400, &[], &api.error(&failure))
        };
        let Some(messages) = api.messages(body) else {
            let field = api.conversation_field();
            return refuse(&format!("the body is not JSON with `{field}`"));
        };
        let wait = lock(&self.limit).as_mut().and_then(|limit| limit.refuse(Instant::now()));
        if let Some(wait) = wait {
            let message = "rate limit exceeded";
            let failure = Failure { status: 429, message, kind: None, retry_after: None };
            // Rounded up, so that who waits so long is not too early.
            let headers = [("retry-after-ms", (wait.as_millis() + 1).to_string())];
            return connection.respond(429, &headers, &api.error(&failure));
        }
        let step = match &self.sequence {
            Some(next) => {
                let index = next.fetch_add(1, Ordering::Relaxed);
                Step::nth(index, &messages, &self.default_script)
            }
            None => Step::next(&messages, &self.default_script),
        };
        let step = match step {
            Ok(step) => step,
            Err(error) => return refuse(&format!("malformed script: {error}")),
        };
        let turn = &step.turn;
        if let Some(status) = self.scripted_error(&step) {
            let mut headers: Vec<(&str, String)> =
                turn.headers.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
            headers.extend(turn.retry_after.map(|seconds| ("retry-after", seconds.to_string())));
            let words = turn.error_message.as_deref().unwrap_or("scripted error");
            let words =
                script::fill(words, |name| (name == "key").then(|| key_of(request).to_owned()));
            let failure = Failure {
                status,
                message: &words,
                kind: turn.error_type.as_deref(),
                retry_after: turn.retry_after,
            };
            return connection.respond(status, &headers, &api.error(&failure));
        }
        if let Some(page) = &turn.page {
            return connection.respond_page(page);
        }

        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let reply = Reply {
            number: self.completions.fetch_add(1, Ordering::Relaxed),
            created: since_epoch.as_secs(),
            model: api.model(path, body).unwrap_or(MODEL),
            turn,
        };
        let answer = api.answer(reply);
        if api.is_streamed(path, body) {
            self.play_stream(turn, &*answer, connection)
        } else {
            play_whole(turn, &*answer, connection)
        }
    }

    /// The status of the error that the script wants instead of this turn, this time.
    fn scripted_error(&self, step: &Step) -> Option<u16> {
        let status = step.turn.error?;
        let mut attempts = lock(&self.attempts);
        let attempt = attempts.entry((step.script.clone(), step.index)).or_default();
        *attempt += 1;
        let is_due = step.turn.times.is_none_or(|times| *attempt <= times);
        is_due.then_some(status)
    }

    fn play_stream(
        &self,
        turn: &Turn,
        answer: &dyn Protocol,
        connection: &mut Connection<'_>,
    ) -> io::Result<()> {
        let mut deltas = answer.delta_events();
        if let Some(garbage) = &turn.garbage {
            deltas.splice(1..deltas.len().min(2), [garbage.clone()]);
        }
        connection.start_body("text/event-stream")?;
        if turn.hang {
            return connection.wait_until_closed();
        }
        if turn.cut {
            // The beginning, and half of the rest.
            deltas.truncate(deltas.len() / 2 + 1);
        }
        for (position, delta) in deltas.iter().enumerate() {
            if position > 0 && self.stop.wait(Duration::from_millis(turn.delay_ms)) {
                connection.close();
                return Ok(());
            }
            connection.write_piece(delta.as_bytes())?;
        }
        if turn.cut {
            connection.close();
            return Ok(());
        }
        if turn.stall {
            return connection.wait_until_closed();
        }
        if !turn.unfinished {
            for event in answer.closing_events() {
                connection.write_piece(event.as_bytes())?;
            }
        }
        connection.finish_body()
    }
}

/// Tells threads that wait for time to pass that the server is being dropped.
#[derive(Debug, Default)]
pub(super) struct StopSignal {
    requested: Mutex<bool>,
    changed: Condvar,
}

impl StopSignal {
    pub(super) fn request(&self) {
        *lock(&self.requested) = true;
        self.changed.notify_all();
    }

    pub(super) fn is_requested(&self) -> bool {
        *lock(&self.requested)
    }

    /// Sleeps, unless the server has to stop; returns whether it has to.
    fn wait(&self, duration: Duration) -> bool {
        let requested = lock(&self.requested);
        let (requested, _timeout) = self
            .changed
            .wait_timeout_while(requested, duration, |requested| !*requested)
            .unwrap_or_else(PoisonError::into_inner);
        *requested
    }
}

fn play_whole(
    turn: &Turn,
    answer: &dyn Protocol,
    connection: &mut Connection<'_>,
) -> io::Result<()> {
    let body = match &turn.garbage {
        Some(garbage) => garbage.clone(),
        None => answer.whole().to_string(),
    };
    if !turn.hang && !turn.cut {
        return connection.respond(200, &[], &body);
    }
    connection.start_body("application/json")?;
    if turn.hang {
        return connection.wait_until_closed();
    }
    connection.close();
    connection.write_piece(&body.as_bytes()[..body.len() / 2])
}

/// The key that the client has sent, in the header of its protocol.
fn key_of(request: &Request) -> &str {
    let bearer = request.header("authorization").and_then(|it| it.strip_prefix("Bearer "));
    let keys = ["x-api-key", "x-goog-api-key"].into_iter().find_map(|name| request.header(name));
    bearer.or(keys).unwrap_or_default()
}

fn models() -> Value {
    let model = json!({"id": MODEL, "object": "model", "created": 0, "owned_by": "fake-llm"});
    json!({"object": "list", "data": [model]})
}

/// Locks even if another thread panicked: what the server remembers is never half-written.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
