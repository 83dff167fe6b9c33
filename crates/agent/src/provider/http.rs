//! Sends requests to a provider over HTTP.

use std::collections::BTreeMap;
use std::env;
use std::error::Error as _;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ureq::http::HeaderMap;
use ureq::http::header::HeaderName;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, BodyReader, Timeout};

use super::failure::{self, Refusal};
use super::protocol::Protocol;
use super::{ProviderError, proxy, retry_after};
use crate::config::Secret;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// All protocols send and receive JSON.
const JSON_HEADERS: [(&str, &str); 2] =
    [("content-type", "application/json"), ("accept", "application/json")];

/// The longest answer that is no stream.
const MAXIMAL_BODY_BYTES: u64 = 16 * 1024 * 1024;

/// Shorter keys are not removed from messages. Users make them up for servers that need none, and
/// they are words or letters that occur in any message.
const MINIMAL_SECRET: usize = 8;

/// The files in which distributions keep all authorities. The directory beside such a file has the
/// same ones in hundreds of files, which take five times as long to read.
const BUNDLES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// What requests to a provider depend on, beside the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// After a longer silence of the provider the request fails; `None` for never.
    pub idle_timeout: Option<Duration>,
    /// Empty for no proxy, `None` for that of the environment.
    pub proxy: Option<String>,
    /// The id of the conversation, for the caches of providers.
    pub session: Option<String>,
    /// Where the programs of the user write down what they learn of providers.
    pub learned: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            idle_timeout: Some(Duration::from_secs(300)),
            proxy: None,
            session: None,
            learned: None,
        }
    }
}

/// A client for one address, which keeps its connection between requests.
#[derive(Debug)]
pub(super) struct Client {
    agent: Agent,
    url: String,
    headers: Vec<(String, String)>,
    idle_timeout: Option<Duration>,
    secrets: Vec<Secret>,
    /// What the programs of the user know of the provider's limits.
    limits: Option<governor::Provider>,
}

impl Client {
    /// Connects to nothing yet. The headers of the model replace `headers`.
    pub(super) fn new(
        provider: &str,
        url: String,
        key: Option<Secret>,
        mut headers: Vec<(String, String)>,
        of_the_model: &BTreeMap<String, Secret>,
        options: &Options,
    ) -> Result<Client, ProviderError> {
        headers.extend(JSON_HEADERS.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let proxy = match &options.proxy {
            Some(proxy) => Some(proxy.clone()).filter(|proxy| !proxy.is_empty()),
            None => proxy::for_url(&url, |name| env::var(name).ok()),
        };
        let proxy = proxy.map(|proxy| ureq::Proxy::new(&proxy)).transpose();
        let proxy =
            proxy.map_err(|error| ProviderError::permanent(format!("The proxy: {error}")))?;
        let is_tls = is_tls_address(&url);
        let mut config = Agent::config_builder()
            .proxy(proxy)
            .http_status_as_error(false)
            // A request is never sent to an address that is not configured.
            .max_redirects(0)
            .max_redirects_will_error(false)
            // No time limit for the whole call or for the lookup of the name: with one, the library
            // looks names up on a thread, and panics where there is none to be had.
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_per_read(options.idle_timeout)
            .timeout_per_write(options.idle_timeout)
            .user_agent(concat!("pi-subagents/", env!("CARGO_PKG_VERSION")));
        if is_tls {
            config =
                config.tls_config(TlsConfig::builder().root_certs(root_certificates()).build());
        }

        let limits = options.learned.as_deref().map(|learned| {
            governor::Provider::new(learned, provider, key.as_ref().map(Secret::reveal))
        });
        let mut secrets: Vec<Secret> = key.into_iter().collect();
        for (name, value) in of_the_model {
            let name = name.to_ascii_lowercase();
            if ["auth", "key", "token", "secret", "cookie"].iter().any(|word| name.contains(word)) {
                let value = value.reveal();
                let (_, last) = value.rsplit_once(' ').unwrap_or(("", value));
                secrets.push(Secret::new(last));
            }
        }
        secrets.retain(|secret| secret.reveal().len() >= MINIMAL_SECRET);
        Ok(Client {
            agent: config.build().new_agent(),
            url,
            headers: merged(headers, of_the_model),
            idle_timeout: options.idle_timeout,
            secrets,
            limits,
        })
    }

    /// Sends a request when the provider's limits permit it. It is under way until the second part of what is returned is
    /// dropped. A status that is no success becomes the error that the protocol makes of it.
    pub(super) fn post(
        &self,
        headers: &[(String, String)],
        body: &[u8],
        protocol: &dyn Protocol,
    ) -> Result<(BodyReader<'static>, Option<governor::Request>), ProviderError> {
        check_clock(&self.url, SystemTime::now())?;
        let under_way = self.limits.as_ref().map(governor::Provider::begin);
        let mut request = self.agent.post(&self.url);
        for (name, value) in self.headers.iter().chain(headers) {
            request = request.header(name, value);
        }
        let response = request.send(body).map_err(|error| self.failed(error))?;
        let (parts, body) = response.into_parts();
        let status = parts.status.as_u16();
        let mut body = body.into_reader();
        if parts.status.is_success() {
            return Ok((body, under_way));
        }
        // A part of the reason is better than an error about reading it.
        let (text, _) = read_text(&mut body);
        let after = retry_after::parse(
            header(&parts.headers, "retry-after-ms"),
            header(&parts.headers, "retry-after"),
            SystemTime::now(),
        );
        if let (Some(limits), Some(under_way), 429 | 503 | 529) = (&self.limits, &under_way, status)
        {
            limits.refused(under_way, after);
        }
        let should_retry = header(&parts.headers, "x-should-retry");
        let refusal = Refusal { status: Some(status), should_retry, after };
        Err(self.shown(protocol.refused(refusal, status, &text)))
    }

    /// The error without secrets and control characters, and not too long.
    pub(super) fn shown(&self, mut error: ProviderError) -> ProviderError {
        for secret in &self.secrets {
            error.message = secret.redact(&error.message);
        }
        error.message = failure::clean(&error.message);
        if error.message.trim().is_empty() {
            error.message = "The provider failed, and did not say why".to_owned();
        }
        error
    }

    pub(super) fn cut(&self, error: io::Error) -> ProviderError {
        self.failed(ureq::Error::from(error))
    }

    fn failed(&self, error: ureq::Error) -> ProviderError {
        use ureq::Error as E;
        let host = self.host();
        let error = match error {
            E::Timeout(Timeout::PerRead | Timeout::PerWrite) => {
                let seconds = self.idle_timeout.unwrap_or_default().as_secs_f64();
                ProviderError::temporary(format!(
                    "Request timed out: {host} was silent for {seconds} s"
                ))
            }
            E::Timeout(_) => {
                ProviderError::temporary(format!("Request timed out: {host}: {error}"))
            }
            E::Io(error) if is_tls(&error) => untrusted(host, &reason(&error)),
            E::Io(error) => {
                ProviderError::temporary(format!("Connection error: {host}: {}", reason(&error)))
            }
            E::Rustls(error) => untrusted(host, &error.to_string()),
            E::HostNotFound | E::ConnectionFailed | E::ConnectProxyFailed(_) | E::Protocol(_) => {
                ProviderError::temporary(format!("Connection error: {host}: {error}"))
            }
            error => ProviderError::permanent(format!("Cannot ask {host}: {error}")),
        };
        self.shown(error)
    }

    /// The host, for messages: the rest of an address may have keys.
    fn host(&self) -> &str {
        let (_, rest) = self.url.split_once("://").unwrap_or(("", &self.url));
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        authority.rsplit('@').next().unwrap_or_default()
    }
}

/// Reads an answer that is no stream, and returns also why it could not be read to its end.
pub(super) fn read_text(body: &mut dyn Read) -> (String, io::Result<()>) {
    let mut bytes = Vec::new();
    let read = body.take(MAXIMAL_BODY_BYTES).read_to_end(&mut bytes);
    (String::from_utf8_lossy(&bytes).into_owned(), read.map(|_| ()))
}

fn untrusted(host: &str, reason: &str) -> ProviderError {
    ProviderError::permanent(format!(
        "No secure connection to {host}: {reason}. The certificates of another authority can be \
         given with SSL_CERT_FILE."
    ))
}

fn is_tls(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidData
}

/// The innermost error, which is the most precise.
fn reason(error: &io::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        words = inner.to_string();
        source = inner.source();
    }
    words
}

/// The headers of the model replace others of the same name, in any case.
fn merged(
    headers: Vec<(String, String)>,
    of_the_model: &BTreeMap<String, Secret>,
) -> Vec<(String, String)> {
    let is_replaced =
        |name: &str| of_the_model.keys().any(|other| other.eq_ignore_ascii_case(name));
    let kept = headers.into_iter().filter(|(name, _)| !is_replaced(name));
    let own = of_the_model.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned()));
    kept.chain(own).collect()
}

fn header<'headers>(headers: &'headers HeaderMap, name: &'static str) -> Option<&'headers str> {
    headers.get(HeaderName::from_static(name))?.to_str().ok()
}

fn is_tls_address(url: &str) -> bool {
    url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"))
}

/// No certificate is valid before 1970, and the library that checks them takes it for impossible.
fn check_clock(url: &str, now: SystemTime) -> Result<(), ProviderError> {
    if is_tls_address(url) && now < SystemTime::UNIX_EPOCH {
        let message = "The clock of this machine is set to a time before 1970, so that no certificate \
                       is valid. Set the clock.";
        return Err(ProviderError::permanent(message.to_owned()));
    }
    Ok(())
}

/// The authorities of the system, so that those of a company are trusted, and those of
/// `NODE_EXTRA_CA_CERTS`, because pi does so; the well-known ones if the system has none.
fn root_certificates() -> RootCerts {
    let mut certificates = system_certificates();
    if certificates.is_empty() {
        return RootCerts::WebPki;
    }
    certificates.extend(extra_certificates());
    RootCerts::from(certificates)
}

fn system_certificates() -> Vec<Certificate<'static>> {
    let owned = |found: rustls_native_certs::CertificateResult| -> Vec<Certificate<'static>> {
        found.certs.iter().map(|it| Certificate::from_der(it).to_owned()).collect()
    };
    let is_set = |name| env::var_os(name).is_some();
    // On other systems, such a file is not everything that the system trusts.
    if cfg!(target_os = "linux") && !is_set("SSL_CERT_FILE") && !is_set("SSL_CERT_DIR") {
        let files = BUNDLES.iter().map(Path::new).filter(|file| file.exists());
        let mut found =
            files.map(|file| owned(rustls_native_certs::load_certs_from_paths(Some(file), None)));
        if let Some(certificates) = found.find(|certificates| !certificates.is_empty()) {
            return certificates;
        }
    }
    owned(rustls_native_certs::load_native_certs())
}

fn extra_certificates() -> Vec<Certificate<'static>> {
    let Some(bytes) = env::var_os("NODE_EXTRA_CA_CERTS").and_then(|path| fs::read(path).ok())
    else {
        return Vec::new();
    };
    let items = parse_pem(&bytes).filter_map(Result::ok).filter_map(|item| match item {
        PemItem::Certificate(certificate) => Some(certificate),
        _ => None,
    });
    items.collect()
}
