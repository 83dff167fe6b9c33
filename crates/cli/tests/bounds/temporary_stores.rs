//! Where runs are kept if the project cannot hold them, and what is not taken for such a place.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::*;

#[test]
fn a_plain_file_in_place_of_the_state_directory_moves_the_run_elsewhere() {
    let world = world().with_scout();
    fs::write(world.project().join(".pi"), "a note").unwrap();
    let ran = world.play(&answers("done"), &[]);
    assert_eq!((ran.code, &ran.task()["output"]), (Some(0), &json!("done")), "{ran:?}");
    let warning = ran.task()["warnings"][0].as_str().unwrap().to_owned();
    assert!(warning.contains("so this run is kept in"), "{warning}");
    assert_eq!(ran.task()["warnings"].as_array().map(Vec::len), Some(1), "{ran:?}");
    let run_dir = ran.run_dir();
    assert!(run_dir.join("result.json").exists());
    let store = run_dir.parent().unwrap();
    assert_eq!(store.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    // The other commands say that there is nothing, instead of failing.
    for arguments in [&["sessions", "list"][..], &["bg", "list"], &["profile", "list"], &["watch"]]
    {
        let ran = world.run(arguments);
        assert!(ran.code == Some(0) && !ran.stderr.contains("warning"), "{arguments:?} {ran:?}");
    }
    let agent = world.agent(&answers("done"));
    let refused = world.run(&["bg", "start", "--preset", "scout", "--agent", &agent, "do it"]);
    assert!(refused.code != Some(0) && refused.stderr.contains(".pi"), "{refused:?}");
    let doctor = world.run(&["doctor"]);
    assert!(doctor.stdout.contains("runs cannot be saved here"), "{doctor:?}");
    assert!(doctor.stdout.contains("is not a directory"), "{doctor:?}");
    assert_eq!(fs::read_to_string(world.project().join(".pi")).unwrap(), "a note");
}

#[test]
fn a_directory_of_another_program_is_not_taken_for_ours() {
    let world = world();
    // As the npm package makes it, with what looks like a run.
    let theirs = world.path(&format!("pi-subagents-{}", rustix::process::getuid().as_raw()));
    let task = theirs.join("agent-0123456789/output.jsonl");
    fs::create_dir_all(task.parent().unwrap()).unwrap();
    fs::write(&task, "{}").unwrap();
    // One with our name that others can enter was not made by us either.
    let open = world.path("pi-subagents-runs-abcdef/00000000-0000-run");
    fs::create_dir_all(&open).unwrap();
    fs::set_permissions(open.parent().unwrap(), Permissions::from_mode(0o755)).unwrap();
    for directory in [&theirs, open.parent().unwrap()] {
        // The whole path: cgroups that other tests leave have names that begin like it.
        let path = directory.to_str().unwrap();
        for arguments in [&["sessions", "list"][..], &["doctor"], &["doctor", "--json"]] {
            let ran = world.run(arguments);
            let told = format!("{}{}", ran.stdout, ran.stderr);
            assert!(!told.contains(path), "{arguments:?} {told}");
        }
    }
    assert!(task.exists());
    // Ours is found.
    fs::write(world.project().join(".pi"), "").unwrap();
    let ours = world.play(&answers("done"), &[]).run_dir();
    let doctor = world.run(&["doctor"]);
    let ours = ours.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    assert!(ours.starts_with("pi-subagents-runs-") && doctor.stdout.contains(&ours), "{doctor:?}");
}
