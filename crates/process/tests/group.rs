//! Containment by process group, as on systems without a subreaper. One test only: reaping waits
//! for every child of this process.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use pi_subagents_process::{ChildSpec, Containment, Exit, KillTarget, Signal, spawn_contained};

#[test]
fn a_group_is_stopped_and_known_to_be_gone() {
    let args = ["-c".to_owned(), "trap '' TERM; sleep 1000 & exec sleep 1000".to_owned()];
    let spec = ChildSpec {
        program: "sh",
        name: None,
        args: &args,
        cwd: Path::new("/"),
        environment: &BTreeMap::new(),
    };
    let mut child = spawn_contained(spec, Containment::Group).unwrap();
    assert_eq!(child.tree.reap().child, None);
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut reaped = child.tree.reap();
    while !reaped.gone && Instant::now() < deadline {
        child.tree.signal(Signal::Kill);
        reaped = child.tree.reap();
        std::thread::yield_now();
    }
    assert_eq!((reaped.child, reaped.gone), (Some(Exit::Signal(9)), true));
    assert_eq!(KillTarget::Group(child.tree.child()).count(), 0);
}
