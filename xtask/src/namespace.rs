//! A namespace with mounts of its own, which are seen by nobody else and gone with whoever made them.

use crate::invocation::Invocation;

/// Ways into a namespace with mounts of its own, the best first. The second is for those who are
/// root already where user namespaces are refused.
const ENTRANCES: &[&str] = &[
    "unshare --user --map-root-user --mount --propagation private --",
    "unshare --mount --propagation private --",
];

/// What must be possible inside.
const PROBES: &[&str] = &["true", "mount -t tmpfs none /mnt"];

/// The first entrance behind which every probe succeeds, or why each of them is closed.
pub fn find_entrance() -> Result<&'static str, String> {
    let mut reasons = Vec::new();
    for entrance in ENTRANCES {
        let probed = PROBES.iter().try_for_each(|probe| {
            let probe = Invocation::new(entrance).words(probe);
            probe.probe().map_err(|what| format!("`{probe}` {what}"))
        });
        match probed {
            Ok(()) => return Ok(entrance),
            Err(reason) => reasons.push(reason),
        }
    }
    Err(reasons.join("; "))
}
