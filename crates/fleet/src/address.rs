//! Which server the fleet uses. Only the user names one: by a flag, the environment or the settings of the agent directory.

use std::fmt;
use std::path::PathBuf;

/// A server, or several of one cluster, and what it takes to speak to it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct ServerAddress {
    /// `nats://HOST:PORT` or `tls://HOST:PORT`, with commas between several.
    pub url: String,
    pub credentials: Option<Credentials>,
    /// The certificates that sign that of the server; those of the system if absent.
    pub ca: Option<PathBuf>,
}

/// The file with which a program proves its role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// A file of `nsc` with a token and a seed, or one that has nothing but the seed of an nkey.
    File(PathBuf),
}

/// Why a server cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum AddressError {
    #[error(
        "no server of the fleet is named: use --fleet URL, set PI_SUBAGENTS_FLEET, or `subagents.fleet.url` in the settings \
         of your agent directory"
    )]
    Missing,
    #[error(
        "{0:?} is no address of a server: write nats://HOST:4222, or tls://HOST:4222 for an encrypted connection"
    )]
    NoUrl(String),
    #[error(
        "the server {0} is not on this machine and no credentials are named: set `subagents.fleet.credentials` in the \
         settings of your agent directory"
    )]
    NoCredentials(String),
    #[error(
        "a password does not belong into the address of a server: name a file with credentials"
    )]
    Password,
}

impl ServerAddress {
    /// Checks an address. A server on another machine needs credentials.
    pub fn new(
        url: &str,
        credentials: Option<PathBuf>,
        ca: Option<PathBuf>,
    ) -> Result<ServerAddress, AddressError> {
        let credentials = credentials.map(Credentials::File);
        let address = ServerAddress { url: url.trim().to_owned(), credentials, ca };
        let mut servers = address.servers().peekable();
        if servers.peek().is_none() {
            return Err(AddressError::Missing);
        }
        for server in servers {
            let no_url = || AddressError::NoUrl(server.to_owned());
            let (scheme, rest) = server.split_once("://").unwrap_or(("nats", server));
            if !matches!(scheme, "nats" | "tls") || rest.is_empty() {
                return Err(no_url());
            }
            if rest.contains('@') {
                return Err(AddressError::Password);
            }
            if address.credentials.is_none() && !is_loopback(rest) {
                return Err(AddressError::NoCredentials(server.to_owned()));
            }
        }
        Ok(address)
    }

    /// The servers, one by one.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.url.split(',').map(str::trim).filter(|server| !server.is_empty())
    }

    /// Whether the connection must be encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.ca.is_some() || self.servers().any(|server| server.starts_with("tls://"))
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.url)
    }
}

fn is_loopback(host_and_port: &str) -> bool {
    let authority = host_and_port.split('/').next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.rsplit_once(':').map_or(authority, |(host, _)| host),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_elsewhere_needs_credentials_and_one_on_this_machine_does_not() {
        let plain = |url: &str| ServerAddress::new(url, None, None);
        for url in ["nats://127.0.0.1:4222", "localhost:4222", "nats://[::1]:4222", "127.0.0.1"] {
            assert!(plain(url).is_ok(), "{url}");
        }
        for url in [
            "nats://10.0.0.1:4222",
            "tls://fleet.example.org",
            "nats://127.0.0.1:4222,nats://example.org:4222",
            "nats://127.0.0.1.example.org:4222",
        ] {
            assert!(matches!(plain(url), Err(AddressError::NoCredentials(_))), "{url}");
            assert!(ServerAddress::new(url, Some("/creds".into()), None).is_ok(), "{url}");
        }
        assert_eq!(plain("nats://me:secret@127.0.0.1:4222"), Err(AddressError::Password));
        assert!(matches!(plain("http://127.0.0.1"), Err(AddressError::NoUrl(_))));
        assert_eq!(plain(" "), Err(AddressError::Missing));
    }
}
