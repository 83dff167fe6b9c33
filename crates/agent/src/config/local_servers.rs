//! Servers of models on this machine that need no key: how they are found, and how they are used.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use ureq::Agent;

use crate::provider::Api;

/// A program that serves models on a port of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LocalServer {
    /// The name of the provider, as users write it before a model.
    provider: &'static str,
    title: &'static str,
    port: u16,
}

/// A server that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct FoundServer {
    /// Such as `Ollama`.
    pub title: &'static str,
    pub base_url: String,
    pub models: Vec<String>,
    /// What `models.json` needs, so that the models can be used.
    pub models_file_entry: String,
    /// How the first model is named then.
    pub first_model: Option<String>,
}

const OLLAMA: LocalServer = LocalServer { provider: "ollama", title: "Ollama", port: 11434 };

const SERVERS: [LocalServer; 3] = [
    OLLAMA,
    LocalServer { provider: "lmstudio", title: "LM Studio", port: 1234 },
    LocalServer { provider: "llamacpp", title: "llama.cpp", port: 8080 },
];

/// On this machine an answer takes milliseconds. Each step of a request may take this long.
const PATIENCE: Duration = Duration::from_millis(400);
const MAX_ANSWER_BYTES: u64 = 1024 * 1024;
/// How many models an entry for `models.json` names.
const MOST_MODELS: usize = 4;

impl LocalServer {
    /// The text that `models.json` needs for a provider of this name: with the address of the server
    /// that is known by the name, or else with a place for one.
    pub(super) fn models_file_entry(provider: &str) -> String {
        let model = ["MODEL".to_owned()];
        match SERVERS.iter().find(|server| server.provider.eq_ignore_ascii_case(provider)) {
            Some(server) => entry(provider, &server.base_url(server.port), &model, false),
            None => entry(provider, "https://HOST/v1", &model, true),
        }
    }

    fn base_url(self, port: u16) -> String {
        format!("http://127.0.0.1:{port}/v1")
    }
}

/// Asks the usual ports of this machine for models, all at once. Ollama may have another port, which
/// its own variable names; another machine is never asked.
pub fn find_local_servers(environment: &dyn Fn(&str) -> Option<String>) -> Vec<FoundServer> {
    let at = SERVERS.map(|server| {
        let port = match environment("OLLAMA_HOST") {
            Some(host) if server == OLLAMA => port_on_this_machine(&host, server.port),
            _ => Some(server.port),
        };
        port.map(|port| (server, port))
    });
    find_at(&at.into_iter().flatten().collect::<Vec<_>>())
}

fn find_at(servers: &[(LocalServer, u16)]) -> Vec<FoundServer> {
    let asked = servers.iter().map(|(server, port)| {
        let (server, port) = (*server, *port);
        process::start_thread(move || ask(server, port))
    });
    // All of them are started before the first one is waited for.
    let asked: Vec<_> = asked.collect();
    let answers = asked.into_iter().map(|asked| match asked {
        Ok(thread) => thread.join().ok().flatten().flatten(),
        Err(no_thread) => no_thread.work.and_then(|ask| ask()),
    });
    answers.flatten().collect()
}

/// The server, if it is one: any program can have the port.
fn ask(server: LocalServer, port: u16) -> Option<FoundServer> {
    #[derive(Deserialize)]
    struct List {
        data: Vec<Listed>,
    }
    #[derive(Deserialize)]
    struct Listed {
        id: String,
    }
    let agent = Agent::config_builder()
        .proxy(None)
        .max_redirects(0)
        .timeout_connect(Some(PATIENCE))
        .timeout_send_request(Some(PATIENCE))
        .timeout_recv_response(Some(PATIENCE))
        .timeout_recv_body(Some(PATIENCE))
        .user_agent(concat!("pi-subagents/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent();
    let base_url = server.base_url(port);
    let answer = agent.get(format!("{base_url}/models")).call().ok()?;
    let body = answer.into_body().into_with_config().limit(MAX_ANSWER_BYTES).read_to_vec().ok()?;
    let list: List = serde_json::from_slice(&body).ok()?;
    let models: Vec<String> = list.data.into_iter().map(|model| model.id).collect();
    let named = match models.as_slice() {
        [] => vec!["MODEL".to_owned()],
        models => models.iter().take(MOST_MODELS).cloned().collect(),
    };
    Some(FoundServer {
        title: server.title,
        models_file_entry: entry(server.provider, &base_url, &named, false),
        first_model: models.first().map(|model| format!("{}/{model}", server.provider)),
        base_url,
        models,
    })
}

/// In one line, because errors have one.
fn entry(provider: &str, base_url: &str, models: &[String], has_key: bool) -> String {
    let models: Vec<Value> = models.iter().map(|id| json!({"id": id})).collect();
    let key = if has_key { "\"apiKey\": \"$VARIABLE\", " } else { "" };
    format!(
        "{{\"providers\": {{{}: {{\"baseUrl\": \"{base_url}\", \"api\": \"{}\", {key}\"models\": {}}}}}}}",
        json!(provider),
        Api::OpenAiCompletions.name(),
        Value::from(models)
    )
}

/// The port of an address that Ollama's variable has, such as `127.0.0.1:11434`, `:8000` or
/// `http://localhost`; nothing if it is on another machine.
fn port_on_this_machine(host: &str, usual: u16) -> Option<u16> {
    let host = host.trim();
    let host = host.split_once("://").map_or(host, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or_default();
    if let Ok(address) = host.parse::<SocketAddr>() {
        return is_here(address.ip()).then_some(address.port());
    }
    if let Ok(address) = host.trim_matches(['[', ']']).parse::<IpAddr>() {
        return is_here(address).then_some(usual);
    }
    let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
    let port = if port.is_empty() { Some(usual) } else { port.parse().ok() };
    port.filter(|_| name.is_empty() || name.eq_ignore_ascii_case("localhost"))
}

fn is_here(address: IpAddr) -> bool {
    address.is_loopback() || address == IpAddr::V4(Ipv4Addr::UNSPECIFIED)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;
    use std::time::Instant;

    use super::*;

    /// A server that says one thing to everyone, or nothing at all.
    fn serve(answer: Option<&str>) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let answer = answer.map(str::to_owned);
        thread::spawn(move || {
            let mut open = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                if let Some(body) = &answer {
                    let mut request = [0; 4096];
                    let _ = stream.read(&mut request);
                    let length = body.len();
                    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
                    let _ = stream.write_all(format!("{head}{body}").as_bytes());
                } else {
                    open.push(stream);
                }
            }
        });
        port
    }

    #[test]
    fn only_servers_of_models_are_found_and_silent_ones_hold_up_nothing() {
        let models =
            serve(Some(r#"{"object": "list", "data": [{"id": "qwen3:8b"}, {"id": "b"}]}"#));
        let (empty, page) = (serve(Some(r#"{"data": []}"#)), serve(Some("<html>hello</html>")));
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let ports = [models, empty, page, serve(None), serve(None), serve(None), closed];
        let begun = Instant::now();
        let found = find_at(&ports.map(|port| (OLLAMA, port)));
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        let base_url = format!("http://127.0.0.1:{models}/v1");
        let entry = format!(
            "{{\"providers\": {{\"ollama\": {{\"baseUrl\": \"{base_url}\", \"api\": \
             \"openai-completions\", \"models\": [{{\"id\":\"qwen3:8b\"}},{{\"id\":\"b\"}}]}}}}}}"
        );
        let first = FoundServer {
            title: "Ollama",
            base_url,
            models: vec!["qwen3:8b".to_owned(), "b".to_owned()],
            models_file_entry: entry,
            first_model: Some("ollama/qwen3:8b".to_owned()),
        };
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0], first);
        assert_eq!((found[1].models.len(), found[1].first_model.as_deref()), (0, None));
    }

    #[test]
    fn an_entry_is_what_models_json_takes() {
        for name in ["ollama", "LMStudio", "llamacpp", "my \"own\""] {
            let entry = LocalServer::models_file_entry(name);
            let json: Value = serde_json::from_str(&entry).unwrap();
            let read = super::super::definition::read_providers(&json).unwrap_or_default();
            assert_eq!(read[0].0, name, "{entry}");
            let is_local = read[0].1.base_url.as_deref().unwrap().starts_with("http://127.0.0.1:");
            assert_eq!(is_local, read[0].1.api_key.is_none(), "{entry}");
        }
    }

    #[test]
    fn another_machine_is_never_asked() {
        for (host, expected) in [
            ("127.0.0.1:5", Some(5)),
            ("0.0.0.0", Some(7)),
            ("0.0.0.0:9", Some(9)),
            ("localhost", Some(7)),
            ("http://localhost:8/", Some(8)),
            (":6", Some(6)),
            ("[::1]:4", Some(4)),
            ("::1", Some(7)),
            ("gpu.example:11434", None),
            ("10.0.0.1", None),
            ("localhost.example:1", None),
            ("localhost:many", None),
        ] {
            assert_eq!(port_on_this_machine(host, 7), expected, "{host}");
        }
    }
}
