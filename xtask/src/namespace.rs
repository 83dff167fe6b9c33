//! A mount namespace: what a process mounts in it, no other process sees, and the kernel unmounts it when the
//! last process in it ends.

use crate::invocation::Invocation;

/// Command lines that start a program in a mount namespace, the best first. The second works for root where
/// user namespaces are forbidden.
const WRAPPERS: &[&str] = &[
    "unshare --user --map-root-user --mount --propagation private --",
    "unshare --mount --propagation private --",
];

/// Commands that must succeed in the namespace.
const PROBES: &[&str] = &["true", "mount -t tmpfs none /mnt"];

/// The first command line with which every probe succeeds, or why each of them failed.
pub fn find_wrapper() -> Result<&'static str, String> {
    let mut reasons = Vec::new();
    for wrapper in WRAPPERS {
        let probed = PROBES.iter().try_for_each(|probe| {
            let probe = Invocation::new(wrapper).words(probe);
            probe.probe().map_err(|what| format!("`{probe}` {what}"))
        });
        match probed {
            Ok(()) => return Ok(wrapper),
            Err(reason) => reasons.push(reason),
        }
    }
    Err(reasons.join("; "))
}
