//! Finds the proxy for an address in the environment.

/// The proxy for an address, from variables such as `https_proxy` and `NO_PROXY`. Names in lower case
/// come first; an empty variable counts as missing.
pub(super) fn for_url(url: &str, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let either = |name: &str| {
        let value = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        value(name).or_else(|| value(&name.to_ascii_uppercase()))
    };
    let target = Target::parse(url)?;
    let exceptions = either("no_proxy").unwrap_or_default().to_ascii_lowercase();
    if exceptions.split([',', ' ', '\t']).any(|entry| target.is_meant_by(entry)) {
        return None;
    }
    let proxy = either(&format!("{}_proxy", target.scheme)).or_else(|| either("all_proxy"))?;
    let proxy = proxy.trim();
    Some(if proxy.contains("://") { proxy.to_owned() } else { format!("http://{proxy}") })
}

struct Target {
    scheme: String,
    host: String,
    port: u16,
}

impl Target {
    fn parse(url: &str) -> Option<Target> {
        let (scheme, rest) = url.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next()?;
        let authority = authority.rsplit('@').next()?;
        let scheme = scheme.to_ascii_lowercase();
        let usual = if scheme == "https" { 443 } else { 80 };
        let (host, port) = split_port(authority);
        Some(Target { scheme, host: host.to_ascii_lowercase(), port: port.unwrap_or(usual) })
    }

    /// Whether an entry of `no_proxy` names this host, or a domain above it.
    fn is_meant_by(&self, entry: &str) -> bool {
        if entry == "*" {
            return true;
        }
        let (domain, port) = split_port(entry);
        if port.is_some_and(|port| port != self.port) {
            return false;
        }
        let domain = domain.strip_prefix('*').unwrap_or(domain);
        let domain = domain.strip_prefix('.').unwrap_or(domain);
        if domain.is_empty() {
            return false;
        }
        let before = self.host.strip_suffix(domain);
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    }
}

/// Splits `host:port`, `[::1]:port` and `::1`.
fn split_port(text: &str) -> (&str, Option<u16>) {
    if let Some((host, rest)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        return (host, rest.strip_prefix(':').and_then(|port| port.parse().ok()));
    }
    match text.split_once(':') {
        Some((host, port)) if !port.contains(':') => (host, port.parse().ok()),
        _ => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_found_by_scheme_and_exceptions() {
        let proxies = &[("https_proxy", "http://p:1"), ("HTTP_PROXY", "q:2")][..];
        let all = &[("ALL_PROXY", "socks5://s:3"), ("https_proxy", " ")][..];
        let with = |exceptions| vec![("https_proxy", "http://p:1"), ("NO_PROXY", exceptions)];
        let api = "https://api.example.com/v1";
        type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], Option<&'a str>);
        let cases: &[Case<'_>] = &[
            (api, &[], None),
            (api, proxies, Some("http://p:1")),
            ("http://localhost:11434/v1", proxies, Some("http://q:2")),
            (api, all, Some("socks5://s:3")),
            ("http://x", all, Some("socks5://s:3")),
            (api, &with("*"), None),
            (api, &with("other.org, example.com"), None),
            (api, &with(".example.com"), None),
            (api, &with("*.Example.com"), None),
            (api, &with("ample.com"), Some("http://p:1")),
            (api, &with("api.example.com:443"), None),
            (api, &with("api.example.com:8443"), Some("http://p:1")),
            ("https://user@api.example.com:8443?x", &with("api.example.com:8443"), None),
            ("https://[::1]:9/", &with("::1"), None),
            ("https://[::1]:9/", &with("[::1]:8"), Some("http://p:1")),
            (api, &with(" , . "), Some("http://p:1")),
            ("nonsense", proxies, None),
        ];
        for (url, variables, expected) in cases {
            let variable = |name: &str| {
                let found = variables.iter().find(|(other, _)| *other == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(for_url(url, variable).as_deref(), *expected, "{url} {variables:?}");
        }
    }
}
