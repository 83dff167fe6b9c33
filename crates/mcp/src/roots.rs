//! Where a client works that starts its servers somewhere else.

use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use rmcp::service::{Peer, RoleServer};

/// How long a client may take to say where it works.
const PATIENCE: Duration = Duration::from_secs(3);

/// The directory that the client works in, if it says so and this process stands elsewhere.
#[expect(deprecated, reason = "the protocol is going to lose it, but the clients of today have it")]
pub(crate) async fn root(peer: &Peer<RoleServer>, here: &Path) -> Option<PathBuf> {
    peer.peer_info()?.capabilities.roots.as_ref()?;
    let listed = tokio::time::timeout(PATIENCE, peer.list_roots()).await.ok()?.ok()?;
    let roots = listed.roots.iter().filter_map(|root| path_of(&root.uri));
    let roots: Vec<PathBuf> = roots.filter(|path| path.is_dir()).collect();
    if roots.iter().any(|root| here.starts_with(root)) {
        return None;
    }
    roots.into_iter().next()
}

/// The path that a `file:` address stands for. Paths are text everywhere else, too.
fn path_of(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    let path = percent_decode_str(path).decode_utf8().ok()?;
    Some(PathBuf::from(path.into_owned())).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_absolute_paths() {
        for (uri, path) in [
            ("file:///work/my%20project", Some("/work/my project")),
            ("file:///", Some("/")),
            ("file://relative", None),
            ("file:///a%ff", None),
            ("https://example.org/", None),
            ("/work", None),
        ] {
            assert_eq!(path_of(uri), path.map(PathBuf::from), "{uri}");
        }
    }
}
