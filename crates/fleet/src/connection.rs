//! The connection to the server, and the patience with which it is used.

use std::fmt::Display;
use std::future::Future;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::kv::Store as Bucket;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::object_store::ObjectStore;
use async_nats::jetstream::stream::{self, RetentionPolicy, Stream};
use async_nats::jetstream::{self, Context, ContextBuilder};
use async_nats::{Client, ConnectError, ConnectErrorKind, ConnectOptions, Event};
use tokio::time::Instant;

use crate::names::{BUCKETS, CHANGES, EVENTS, SNAPSHOTS, TASKS, WORKERS, subjects};
use crate::{Credentials, ServerAddress};

/// How long every call is tried again: a cluster that has lost its leader answers nothing for up to eight seconds.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// How long one request waits. A request before there is a leader would hang for ten seconds.
const REQUEST: Duration = Duration::from_secs(2);
/// A server that leaves three of these without an answer is given up for another one: before a worker gives up a caller that
/// is connected to it.
const PING_INTERVAL: Duration = Duration::from_secs(3);
/// The pauses between two tries grow up to this one.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// For how long events, results and bundles are kept.
pub(crate) const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// For how long tasks, their states and results are kept: a little longer than the entries of their batches.
const TASK_KEPT: Duration = Duration::from_secs(31 * 24 * 60 * 60);
/// A worker that was not heard of for so long is gone.
pub(crate) const WORKER_KEPT: Duration = Duration::from_secs(60);
/// Within so long the server knows a message again that was sent twice.
const DUPLICATES: Duration = Duration::from_secs(120);

/// Why the fleet did not do what was asked of it.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum FleetError {
    #[error("the server {server} refused the connection: {reason}")]
    Refused { server: String, reason: String },
    #[error("the server {server} cannot be reached: {reason}")]
    Unreachable { server: String, reason: String },
    #[error("what the agent changed cannot be unpacked: {0}")]
    Changes(String),
    #[error("the credentials {path} cannot be used: {reason}")]
    Credentials { path: String, reason: String },
    #[error("the fleet cannot {what}: {reason}")]
    Failed { what: String, reason: String },
    #[error("the key may not {what}: {reason}")]
    Forbidden { what: String, reason: String },
    #[error("a message of the fleet cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
}

/// Runs what needs the fleet, on a runtime of this thread alone. Nothing else of the program has one.
pub fn block_on<T>(future: impl Future<Output = T>) -> std::io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(future))
}

/// Lets time pass, during which the connection is looked after.
pub async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}

/// What a future yields, if it does so in time.
pub async fn ready_within<T>(
    until: std::time::Instant,
    future: impl Future<Output = T>,
) -> Option<T> {
    tokio::time::timeout_at(until.into(), future).await.ok()
}

/// The server, as every part of the fleet uses it.
#[derive(Clone, Debug)]
pub struct Fleet {
    client: Client,
    jetstream: Context,
    server: String,
    /// What the server complained about last, such as a subject that the role may not use.
    complaint: Arc<Mutex<Option<String>>>,
}

impl Fleet {
    /// Connects. `name` is what the server's lists call this program.
    pub async fn connect(address: &ServerAddress, name: &str) -> Result<Fleet, FleetError> {
        let complaint = Arc::new(Mutex::new(None));
        let started = Instant::now();
        loop {
            let options = options(address, name, complaint.clone())?;
            let servers: Vec<&str> = address.servers().collect();
            match options.connect(servers).await {
                Ok(client) => {
                    let jetstream = ContextBuilder::new().timeout(REQUEST).build(client.clone());
                    let server = address.to_string();
                    return Ok(Fleet { client, jetstream, server, complaint });
                }
                Err(error) if is_final(&error) || started.elapsed() > PATIENCE => {
                    let (server, reason) = (address.to_string(), error.to_string());
                    return Err(if is_final(&error) {
                        FleetError::Refused { server, reason }
                    } else {
                        FleetError::Unreachable { server, reason }
                    });
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
            }
        }
    }

    /// The connection itself, for messages that are not kept.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The streams and buckets.
    pub fn jetstream(&self) -> &Context {
        &self.jetstream
    }

    /// Whether the server can be reached now.
    pub fn is_connected(&self) -> bool {
        self.client.connection_state() == async_nats::connection::State::Connected
    }

    /// How many nodes of a cluster keep each message.
    pub(crate) fn replicas(&self) -> usize {
        if self.client.server_info().cluster.is_some() { 3 } else { 1 }
    }

    /// Makes the streams and buckets that are missing, if the role may.
    pub async fn set_up(&self) -> Result<(), FleetError> {
        let replicas = self.replicas();
        for name in [TASKS, EVENTS] {
            let is_queue = name == TASKS;
            let config = stream::Config {
                name: name.to_owned(),
                subjects: vec![subjects(name)],
                retention: if is_queue {
                    RetentionPolicy::WorkQueue
                } else {
                    RetentionPolicy::Limits
                },
                max_age: if is_queue { TASK_KEPT } else { KEPT },
                duplicate_window: DUPLICATES,
                allow_direct: true,
                num_replicas: replicas,
                ..stream::Config::default()
            };
            self.patiently("make its streams", async || {
                if self.jetstream.get_stream(name).await.is_ok() {
                    return Ok(());
                }
                self.jetstream.create_stream(config.clone()).await.map(drop)
            })
            .await?;
        }
        for name in BUCKETS {
            let config = jetstream::kv::Config {
                bucket: name.to_owned(),
                history: 1,
                max_age: if name == WORKERS { WORKER_KEPT } else { TASK_KEPT },
                num_replicas: replicas,
                ..jetstream::kv::Config::default()
            };
            self.patiently("make its buckets", async || {
                if self.jetstream.get_key_value(name).await.is_ok() {
                    return Ok(());
                }
                self.jetstream.create_key_value(config.clone()).await.map(drop)
            })
            .await?;
        }
        for name in [SNAPSHOTS, CHANGES] {
            self.patiently("make its object stores", async || {
                if self.jetstream.get_object_store(name).await.is_ok() {
                    return Ok(());
                }
                let config = jetstream::object_store::Config {
                    bucket: name.to_owned(),
                    max_age: KEPT,
                    num_replicas: replicas,
                    ..jetstream::object_store::Config::default()
                };
                self.jetstream.create_object_store(config).await.map(drop)
            })
            .await?;
        }
        Ok(())
    }

    /// A stream of the fleet.
    pub async fn stream(&self, name: &str) -> Result<Stream, FleetError> {
        self.patiently(&format!("find the stream {name}"), async || {
            self.jetstream.get_stream(name).await
        })
        .await
    }

    /// A key-value bucket of the fleet.
    pub async fn bucket(&self, name: &str) -> Result<Bucket, FleetError> {
        self.patiently(&format!("find the bucket {name}"), async || {
            self.jetstream.get_key_value(name).await
        })
        .await
    }

    /// An object store of the fleet.
    pub async fn objects(&self, name: &str) -> Result<ObjectStore, FleetError> {
        self.patiently(&format!("find the object store {name}"), async || {
            self.jetstream.get_object_store(name).await
        })
        .await
    }

    /// Publishes a message of a stream until the server has it, once. Returns its number in the stream.
    pub(crate) async fn publish(
        &self,
        what: &str,
        subject: String,
        id: &str,
        value: Vec<u8>,
    ) -> Result<u64, FleetError> {
        // Sent again, it is known by its id.
        self.patiently(what, async || {
            let message = PublishMessage::build().payload(value.clone().into()).message_id(id);
            let sent = self.jetstream.send_publish(subject.clone(), message).await?;
            sent.await.map(|acknowledged| acknowledged.sequence)
        })
        .await
    }

    /// Does something that may be repeated, again and again until it succeeds or [`PATIENCE`] is over.
    pub async fn patiently<T, E: Display>(
        &self,
        what: &str,
        mut attempt: impl AsyncFnMut() -> Result<T, E>,
    ) -> Result<T, FleetError> {
        let started = Instant::now();
        let mut pause = Duration::from_millis(50);
        loop {
            let tried = tokio::time::timeout(PATIENCE, attempt()).await;
            let reason = match tried {
                Ok(Ok(done)) => return Ok(done),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "it did not answer in time".to_owned(),
            };
            if let Some(reason) = self.forbidden() {
                return Err(FleetError::Forbidden { what: what.to_owned(), reason });
            }
            if started.elapsed() > PATIENCE {
                let reason = format!("{reason} (server {})", self.server);
                return Err(FleetError::Failed { what: what.to_owned(), reason });
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// What the server has said if it does not allow something to this role. It will not change its mind.
    fn forbidden(&self) -> Option<String> {
        let complaint = self.complaint.lock().ok()?.take()?;
        complaint.to_lowercase().contains("permissions violation").then_some(complaint)
    }
}

/// A consumer of tasks that all workers of a pool share.
pub fn task_consumer(pool: &crate::Pool, ack_wait: Duration) -> pull::Config {
    let (filter_subject, name) = crate::consumer(pool);
    pull::Config {
        durable_name: Some(name),
        filter_subject,
        ack_wait,
        // The attempts are counted in the state of the task, where those that were handed back do not count.
        max_deliver: -1,
        max_ack_pending: 100_000,
        ..pull::Config::default()
    }
}

fn is_final(error: &ConnectError) -> bool {
    use ConnectErrorKind::{Authentication, AuthorizationViolation, ServerParse, Tls};
    matches!(error.kind(), Authentication | AuthorizationViolation | ServerParse | Tls)
}

fn options(
    address: &ServerAddress,
    name: &str,
    complaint: Arc<Mutex<Option<String>>>,
) -> Result<ConnectOptions, FleetError> {
    let mut options = ConnectOptions::new()
        .name(name)
        .connection_timeout(Duration::from_secs(5))
        .request_timeout(Some(REQUEST))
        .ping_interval(PING_INTERVAL)
        .event_callback(move |event| {
            let complaint = complaint.clone();
            async move {
                let (Event::ServerError(_) | Event::ClientError(_)) = event else { return };
                if let Ok(mut last) = complaint.lock() {
                    *last = Some(event.to_string());
                }
            }
        });
    if let Some(Credentials::File(path)) = &address.credentials {
        options = with_credentials(options, path)?;
    }
    if let Some(ca) = &address.ca {
        options = options.add_root_certificates(ca.clone());
    }
    Ok(options.require_tls(address.is_encrypted()))
}

/// Says why a file with this text has no credentials, if it has none. Nothing of the text is in the reason.
pub fn check_credentials(text: &str) -> Result<(), String> {
    proven(ConnectOptions::new(), text).map(drop)
}

fn with_credentials(options: ConnectOptions, path: &Path) -> Result<ConnectOptions, FleetError> {
    let problem =
        |reason: String| FleetError::Credentials { path: path.display().to_string(), reason };
    let text = std::fs::read_to_string(path).map_err(|error| problem(error.to_string()))?;
    proven(options, &text).map_err(problem)
}

fn proven(options: ConnectOptions, text: &str) -> Result<ConnectOptions, String> {
    if text.contains("BEGIN NATS USER JWT") {
        return options.credentials(text).map_err(|error| error.to_string());
    }
    let seed = text.lines().map(str::trim).find(|line| line.starts_with("SU"));
    let seed = seed.ok_or("it has neither a token nor the seed of a user")?;
    let key = nkeys::KeyPair::from_seed(seed).map_err(|error| error.to_string())?;
    // Answers to one program are not for another: the server lets a key read only what is below its own name.
    let inbox = crate::role::inbox(&key.public_key());
    Ok(options.nkey(seed.to_owned()).custom_inbox_prefix(inbox))
}
