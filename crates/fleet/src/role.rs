//! What a program of the fleet may do at the server: the subjects of each role, and a configuration of a server that keeps to
//! them.

use std::fmt::Write;
use std::path::Path;

use crate::{
    BATCHES, BUCKETS, CHANGES, EVENTS, LIMITS, Pool, RESULTS, SNAPSHOTS, STATES, TASKS, WORKERS,
    consumer,
};

/// Who a program is to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Queues tasks, and reads, cancels and deletes what became of them.
    Caller,
    /// Takes the tasks of one pool.
    Worker(Pool),
    /// Reads batches and workers, and changes nothing.
    Viewer,
}

/// A key of a user, made anew. Its seed is the secret with which a program proves its role.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Key {
    pub public: String,
    pub seed: String,
}

/// A key cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("a key cannot be made: {0}")]
pub struct KeyError(String);

impl Key {
    /// Makes a key from the randomness of the system.
    pub fn new() -> Result<Key, KeyError> {
        let pair = nkeys::KeyPair::new_user();
        let seed = pair.seed().map_err(|error| KeyError(error.to_string()))?;
        Ok(Key { public: pair.public_key(), seed })
    }
}

/// Where answers to the program with this key arrive.
pub(crate) fn inbox(public_key: &str) -> String {
    format!("_INBOX_{public_key}")
}

/// The configuration of a server for one machine: it listens on loopback only, and keeps each key to its role.
pub fn server_configuration(port: u16, store: &Path, users: &[(Role, &Key)]) -> String {
    let mut text = format!(
        "# A server of the fleet for this machine alone: it listens on loopback.
# Start it: nats-server --config THIS_FILE
server_name: subagents
listen: \"127.0.0.1:{port}\"

jetstream {{
  store_dir: {store:?}
  # Survives a power cut, and costs speed. Without it, the last two minutes can be lost in one.
  # sync_interval: always
}}

# For other machines, listen on their network, encrypt the connections, and give each machine the certificate
# of the authority (`subagents.fleet.ca`):
# listen: \"0.0.0.0:{port}\"
# tls {{
#   cert_file: \"/etc/nats/server.pem\"
#   key_file: \"/etc/nats/server-key.pem\"
# }}

# Each program proves its role by the seed of its key. The server has the public halves only.
authorization {{
  users: [
",
        store = store.display().to_string(),
    );
    for (role, key) in users {
        let Permissions { publish, subscribe } = permissions(role, &key.public);
        let list = |subjects: &[String]| {
            let quoted: Vec<String> =
                subjects.iter().map(|subject| format!("{subject:?}")).collect();
            quoted.join(",\n        ")
        };
        // Writing to a text cannot fail.
        let _ = write!(
            text,
            "    # {}\n    {{ nkey: {}, permissions: {{\n      publish: {{ allow: [\n        {}\n      ] }}\n      \
             subscribe: {{ allow: [\n        {}\n      ] }}\n      allow_responses: true\n    }} }}\n",
            role.title(),
            key.public,
            list(&publish),
            list(&subscribe),
        );
    }
    text.push_str("  ]\n}\n");
    text
}

struct Permissions {
    publish: Vec<String>,
    subscribe: Vec<String>,
}

impl Role {
    fn title(&self) -> String {
        match self {
            Role::Caller => "A caller.".to_owned(),
            Role::Worker(pool) => format!("A worker of the pool {pool}."),
            Role::Viewer => "A viewer.".to_owned(),
        }
    }
}

/// The stream behind a bucket.
fn of_bucket(bucket: &str) -> String {
    format!("KV_{bucket}")
}

/// The stream behind an object store.
fn of_objects(store: &str) -> String {
    format!("OBJ_{store}")
}

fn permissions(role: &Role, public_key: &str) -> Permissions {
    let mut publish = vec!["$JS.API.INFO".to_owned()];
    let mut subscribe = vec![format!("{}.>", inbox(public_key))];
    let streams = [TASKS, EVENTS, BATCHES].map(str::to_owned);
    let buckets = BUCKETS.map(of_bucket);
    let stores = [SNAPSHOTS, CHANGES].map(of_objects);
    let all = streams.iter().chain(&buckets).chain(&stores);
    publish.extend(all.clone().map(|stream| format!("$JS.API.STREAM.INFO.{stream}")));
    match role {
        Role::Caller => {
            publish.extend(
                ["subagents.task.>", "subagents.batch.>", "subagents.command.>", "$JS.FC.>"]
                    .map(str::to_owned),
            );
            publish.extend([STATES, RESULTS].map(|bucket| format!("$KV.{bucket}.>")));
            publish.extend([SNAPSHOTS, CHANGES].map(|store| format!("$O.{store}.>")));
            for stream in all {
                publish.extend(
                    ["CREATE", "UPDATE", "PURGE"]
                        .map(|verb| format!("$JS.API.STREAM.{verb}.{stream}")),
                );
                // The tasks that wait are read by workers.
                if stream != TASKS {
                    publish.extend(reading(stream, None));
                }
            }
            // What is cancelled while it waits is taken out of the queue.
            publish.push(format!("$JS.API.STREAM.MSG.DELETE.{TASKS}"));
            subscribe.push("subagents.caller.>".to_owned());
        }
        Role::Worker(pool) => {
            let (tasks, consumer) = consumer(pool);
            let pool = tasks.split('.').nth(2).unwrap_or_default().to_owned();
            publish.extend([
                format!("$JS.API.CONSUMER.CREATE.{TASKS}.{consumer}.{tasks}"),
                format!("$JS.API.CONSUMER.INFO.{TASKS}.{consumer}"),
                format!("$JS.API.CONSUMER.MSG.NEXT.{TASKS}.{consumer}"),
                format!("$JS.ACK.{TASKS}.{consumer}.>"),
                format!("subagents.event.{pool}.>"),
                format!("subagents.caller.{pool}.>"),
                format!("$KV.{STATES}.{pool}.>"),
                format!("$KV.{RESULTS}.{pool}.>"),
                format!("$KV.{WORKERS}.>"),
                format!("$KV.{LIMITS}.>"),
                format!("$O.{CHANGES}.>"),
                "$JS.FC.>".to_owned(),
            ]);
            for bucket in [STATES, RESULTS] {
                publish
                    .extend(reading(&of_bucket(bucket), Some(&format!("$KV.{bucket}.{pool}.>"))));
            }
            publish
                .extend([WORKERS, LIMITS].iter().flat_map(|name| reading(&of_bucket(name), None)));
            publish.extend(stores.iter().flat_map(|store| reading(store, None)));
            subscribe.push(format!("subagents.command.{pool}.>"));
        }
        Role::Viewer => {
            for stream in [EVENTS.to_owned(), BATCHES.to_owned()].iter().chain(&buckets) {
                publish.extend(reading(stream, None));
            }
            publish.push("$JS.FC.>".to_owned());
        }
    }
    Permissions { publish, subscribe }
}

/// What it takes to read a stream, or only the messages with these subjects.
fn reading(stream: &str, subjects: Option<&str>) -> Vec<String> {
    let only = subjects.unwrap_or(">");
    let mut needed = vec![
        format!("$JS.API.CONSUMER.CREATE.{stream}.*.{only}"),
        format!("$JS.API.CONSUMER.INFO.{stream}.*"),
        format!("$JS.API.CONSUMER.DELETE.{stream}.*"),
        format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.*"),
        format!("$JS.API.DIRECT.GET.{stream}.{only}"),
    ];
    if subjects.is_none() {
        // These name no subject, or name it where the server does not look.
        needed.push(format!("$JS.API.CONSUMER.CREATE.{stream}"));
        needed.push(format!("$JS.API.CONSUMER.CREATE.{stream}.*"));
        needed.push(format!("$JS.API.DIRECT.GET.{stream}"));
        needed.push(format!("$JS.API.STREAM.MSG.GET.{stream}"));
    }
    needed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_kept_to_its_pool_and_a_viewer_to_reading() {
        let worker = permissions(&Role::Worker(Pool::parse("gpu").unwrap()), "UA");
        assert_eq!(worker.subscribe, ["_INBOX_UA.>", "subagents.command.gpu.>"]);
        let of_tasks: Vec<&String> =
            worker.publish.iter().filter(|subject| subject.contains(TASKS)).collect();
        assert!(
            of_tasks
                .iter()
                .all(|subject| subject.contains("workers-gpu") || subject.contains("STREAM.INFO")),
            "{of_tasks:?}"
        );
        let viewer = permissions(&Role::Viewer, "UB");
        assert!(
            viewer.publish.iter().all(|subject| subject.starts_with("$JS.")),
            "{:?}",
            viewer.publish
        );
        assert!(!viewer.publish.iter().any(|subject| subject.contains("PURGE")
            || subject.contains(TASKS) && !subject.contains("STREAM.INFO")));
    }

    #[test]
    fn keys_are_made_anew_and_no_seed_is_in_the_configuration() {
        let (one, other) = (Key::new().unwrap(), Key::new().unwrap());
        assert_ne!(one.seed, other.seed);
        assert!(one.seed.starts_with("SU") && one.public.starts_with('U'));
        let text = server_configuration(
            4222,
            Path::new("/x/store"),
            &[(Role::Caller, &one), (Role::Viewer, &other)],
        );
        assert!(text.contains(&one.public) && text.contains(&other.public));
        assert!(!text.contains(&one.seed) && !text.contains(&other.seed));
    }
}
