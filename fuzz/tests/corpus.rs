//! Runs the corpora without the fuzzer, so that they are checked on machines without a C++ compiler, too.

#![expect(clippy::unwrap_used, reason = "this is how a test fails")]

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use pi_subagents_fuzz::TARGETS;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn every_target_has_a_corpus_and_every_corpus_a_target() {
    let directories = entries(&corpus());
    let found: BTreeSet<&str> =
        directories.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    let targets: BTreeSet<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(found, targets);
}

#[test]
fn the_corpora_are_small() {
    let files = entries(&corpus()).into_iter().flat_map(|directory| entries(&directory));
    let bytes: u64 = files.map(|file| file.metadata().unwrap().len()).sum();
    assert!(bytes < 360_000, "the corpora have {bytes} bytes; keep fewer similar files");
}

#[test]
fn nothing_in_the_corpora_breaks_its_target() {
    for target in TARGETS {
        let files = entries(&corpus().join(target.name));
        assert!(!files.is_empty(), "{} has no corpus", target.name);
        for file in files {
            let bytes = fs::read(&file).unwrap();
            let checked = catch_unwind(AssertUnwindSafe(|| (target.check)(&bytes)));
            assert!(checked.is_ok(), "{} fails for {}", target.name, file.display());
        }
    }
}
