//! What is sent by a machine that is trusted with a task, and with nothing else.

use super::*;

#[test]
fn a_path_stays_below_the_root_and_out_of_repositories() {
    for path in ["a", "a/b.c", ".gitignore", "src/.github/x", "..a", "git/x"] {
        assert!(is_inside(path), "{path}");
    }
    for path in [
        "/a",
        "../a",
        "a/../b",
        "a//b",
        ".git/config",
        "a/.GIT/hooks/x",
        ".git./x",
        "GIT~1/x",
        ".g\u{200c}it/config",
        ".",
    ] {
        assert!(!is_inside(path), "{path}");
    }
}

/// Stores an object, whether git would make it or not.
fn stored(git: &Git<'_>, kind: &str, path: &Path) -> String {
    let path = path.to_str().unwrap();
    git.text(&["hash-object", "-w", "--literally", "-t", kind, path]).unwrap().trim().to_owned()
}

/// An entry of a tree, as git stores it.
fn tree_entry(mode: &str, name: &str, object: &str) -> Vec<u8> {
    let id = (0..object.len()).step_by(2);
    let id = id.map(|at| u8::from_str_radix(&object[at..at + 2], 16).unwrap());
    let mut bytes = format!("{mode} {name}\0").into_bytes();
    bytes.extend(id);
    bytes
}

/// A tree with the same thing under ten names.
fn tree_of_ten(git: &Git<'_>, scratch: &Path, mode: &str, object: &str) -> String {
    let path = scratch.join("of-tree");
    let entries: Vec<u8> =
        (0..10).flat_map(|name| tree_entry(mode, &name.to_string(), object)).collect();
    fs::write(&path, entries).unwrap();
    stored(git, "tree", &path)
}

/// A commit whose tree has an entry that git itself would not make.
fn hostile_bundle(scratch: &Path, mode: &str, name: &str, content: &str) -> (PathBuf, String) {
    let source = scratch.join("source");
    init(&source, false).unwrap();
    let git = Git::at(&source, &|| false).within(&source.join(".git"), &source);
    let file = scratch.join("content");
    fs::write(&file, content).unwrap();
    let hash = |kind: &str, path: &Path| stored(&git, kind, path);
    let tree = scratch.join("of-tree");
    fs::write(&tree, tree_entry(mode, name, &hash("blob", &file))).unwrap();
    let tree = hash("tree", &tree);
    let words = format!("tree {tree}\nauthor a <a> 0 +0000\ncommitter a <a> 0 +0000\n\nx\n");
    fs::write(&file, words).unwrap();
    let commit = hash("commit", &file);
    git.run(&["update-ref", "refs/heads/main", &commit]).unwrap();
    let bundle = scratch.join("bundle");
    pack(&git, &bundle, &["refs/heads/main"]).unwrap();
    (bundle, commit)
}

#[test]
fn a_planted_tree_is_refused_before_a_file_of_it_is_written() {
    for (mode, name, content) in [
        ("100644", "../planted", "x"),
        ("100644", "/tmp/planted", "x"),
        ("100755", ".git/hooks/post-checkout", "touch planted"),
        ("100644", ".GIT", "gitdir: elsewhere"),
        ("120000", "link", "../../planted"),
        ("120000", "link", "/etc"),
    ] {
        let scratch = tempfile::tempdir().unwrap();
        let (bundle, commit) = hostile_bundle(scratch.path(), mode, name, content);
        let into = scratch.path().join("into");
        let refused = receive_snapshot(&into, &bundle, &commit).unwrap_err();
        assert!(matches!(refused, WorkspaceError::Hostile(_)), "{name}: {refused}");
        let entries: Vec<_> = fs::read_dir(&into).unwrap().flatten().collect();
        assert!(entries.iter().all(|entry| entry.file_name() == ".git"), "{entries:?}");
        let git = Git::at(&into, &|| false).within(&into.join(".git"), &into);
        assert_eq!(git.resolve(&reference(&commit, "base")).unwrap(), None);
    }
}

#[test]
fn a_snapshot_whose_links_lead_out_together_is_refused() {
    let top = tempfile::tempdir().unwrap();
    let [from, to, bundle] = ["from", "to", "bundle"].map(|name| top.path().join(name));
    init(&from, false).unwrap();
    let git = Git::at(&from, &|| false);
    let pack_links = |links: &[(&str, &str)]| {
        for (path, target) in links {
            fs::write(from.join("target"), target).unwrap();
            let object = git.text(&["hash-object", "-w", "target"]).unwrap();
            let entry = format!("120000,{object},{path}");
            git.run(&["update-index", "--add", "--cacheinfo", &entry]).unwrap();
        }
        let tree = git.text(&["write-tree"]).unwrap();
        let ours = git.clone().with_our_name("@0 +0000");
        let commit = ours.text(&["commit-tree", &tree, "-m", "Links"]).unwrap();
        git.run(&["update-ref", "refs/heads/main", &commit]).unwrap();
        pack(&git, &bundle, &["refs/heads/main"]).unwrap();
        commit
    };
    let commit = pack_links(&[("src/a", "../b"), ("p/q/s", "../..")]);
    receive_snapshot(&to, &bundle, &commit).unwrap();
    // The system would follow this one to the root, and then further up.
    let commit = pack_links(&[("l", "p/q/s/../x")]);
    let refused = receive_snapshot(&to, &bundle, &commit).unwrap_err().to_string();
    assert!(refused.contains("it is a link that leads out of the tree"), "{refused}");
}

#[test]
fn a_link_may_lead_anywhere_below_the_root() {
    for (path, target) in
        [("a", "b"), ("a/b", "../c"), ("a/b/c", "../../d"), ("a/b", ".././c//d/"), ("a", "b..")]
    {
        assert!(!leads_out(path, target), "{path} {target}");
    }
    for (path, target) in [
        ("a", "/etc/passwd"),
        ("a", "../b"),
        ("a/b", "../../c"),
        ("a", "b/../../c"),
        ("a", "b/../c"),
    ] {
        assert!(leads_out(path, target), "{path} {target}");
    }
}

/// What an agent starts from: a repository with one commit, and the commit.
fn started(scratch: &Path) -> (PathBuf, String) {
    let directory = scratch.join("tree");
    init(&directory, false).unwrap();
    let git = Git::at(&directory, &|| false).with_our_name("@0 +0000");
    fs::write(directory.join("a.txt"), "ours\n").unwrap();
    git.run(&["add", "a.txt"]).unwrap();
    git.run(&["commit", "--quiet", "-m", "First"]).unwrap();
    let start = git.text(&["rev-parse", "HEAD"]).unwrap();
    (directory, start)
}

/// All that must stay as it is when something is refused: files, refs, and which objects there are.
fn everything(directory: &Path) -> (Vec<PathBuf>, String) {
    let mut open = vec![directory.to_owned()];
    let mut paths = Vec::new();
    while let Some(path) = open.pop() {
        for entry in fs::read_dir(&path).unwrap().flatten() {
            paths.push(entry.path());
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            }
        }
    }
    paths.sort();
    let git = Git::at(directory, &|| false);
    let refs = git.text(&["for-each-ref"]).unwrap() + &git.text(&["rev-parse", "HEAD"]).unwrap();
    (paths, refs)
}

fn assert_refused(directory: &Path, start: &str, bundle: &Path, commit: &str, problem: &str) {
    let before = everything(directory);
    let result = receive_result(directory, bundle, commit).unwrap_err().to_string();
    let git_dir = directory.join(".git");
    let patch = receive_patch(directory, bundle, start, commit).unwrap_err().to_string();
    for error in [result, patch] {
        assert!(error.contains(problem), "{problem}: {error}");
    }
    assert_eq!(everything(directory), before, "{problem}");
    assert!(git_dir.exists());
    assert_eq!(fs::read_to_string(directory.join("a.txt")).unwrap(), "ours\n");
}

#[test]
fn a_planted_result_is_refused_and_nothing_of_it_is_left() {
    for (mode, name, content) in [
        ("100644", "../planted", "x"),
        ("100644", "/tmp/planted", "x"),
        ("100644", ".git/config", "[core]\n\tfsmonitor = touch planted\n"),
        ("100755", ".git/hooks/x", "touch planted"),
        ("100644", "GIT~1", "gitdir: elsewhere"),
        ("120000", "link", "../../planted"),
        ("120000", "link", "/etc/passwd"),
        ("120000", "link", ".//a/../../planted"),
    ] {
        let scratch = tempfile::tempdir().unwrap();
        let (directory, start) = started(scratch.path());
        let (bundle, commit) = hostile_bundle(scratch.path(), mode, name, content);
        assert_refused(
            &directory,
            &start,
            &bundle,
            &commit,
            "the files that were sent are refused",
        );
    }
}

#[test]
fn what_is_no_bundle_of_the_commit_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let (directory, start) = started(scratch.path());
    let (bundle, commit) = hostile_bundle(scratch.path(), "100644", "b.txt", "theirs\n");
    // A commit that this repository has, and that the agent has not made.
    assert_refused(&directory, &start, &bundle, &start, "is not among them");
    for text in ["HEAD", "--output=planted", "", &commit[..39]] {
        assert_refused(&directory, &start, &bundle, text, "is no commit");
    }
    let whole = fs::read(&bundle).unwrap();
    for bytes in [b"" as &[u8], b"# v2 git bundle\n", &whole[..whole.len() / 2]] {
        fs::write(&bundle, bytes).unwrap();
        assert_refused(&directory, &start, &bundle, &commit, "git bundle unbundle");
    }
}

#[test]
fn a_bundle_sets_no_ref() {
    let scratch = tempfile::tempdir().unwrap();
    let (directory, start) = started(scratch.path());
    let source = scratch.path().join("source");
    // The other machine has what was sent to it.
    let sent = scratch.path().join("sent");
    pack_worktree(&directory, &sent).unwrap();
    receive_snapshot(&source, &sent, &start).unwrap();
    let git = Git::at(&source, &|| false).with_our_name("@0 +0000");
    git.run(&["reset", "--quiet", "--hard", &start]).unwrap();
    fs::write(source.join("b.txt"), "theirs\n").unwrap();
    git.run(&["add", "b.txt"]).unwrap();
    git.run(&["commit", "--quiet", "-m", "Theirs"]).unwrap();
    let commit = git.text(&["rev-parse", "HEAD"]).unwrap();
    let names = ["refs/heads/main", "refs/tags/v1", "refs/pi-subagents/other/result", "HEAD"];
    for name in &names[1..3] {
        git.run(&["update-ref", name, &commit]).unwrap();
    }
    let bundle = scratch.path().join("bundle");
    pack(&git, &bundle, &names).unwrap();
    let refs = |directory: &Path| Git::at(directory, &|| false).text(&["for-each-ref"]).unwrap();
    let before = refs(&directory);
    let patch = receive_patch(&directory, &bundle, &start, &commit).unwrap();
    assert!(String::from_utf8(patch).unwrap().contains("+theirs"));
    assert_eq!(refs(&directory), before);
    receive_result(&directory, &bundle, &commit).unwrap();
    assert_eq!(fs::read_to_string(directory.join("b.txt")).unwrap(), "theirs\n");
    // The branch that is checked out is the worktree's own, and nothing else has moved.
    let moved = refs(&directory).replace(&commit, &start);
    assert_eq!(moved, before);
    assert!(!refs(&directory).contains("other"));
}

#[test]
fn a_bundle_that_unpacks_to_too_much_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let (directory, start) = started(scratch.path());
    // Ten directories with ten directories each, and so on: ten billion files of one byte in two kilobytes.
    let source = scratch.path().join("source");
    init(&source, false).unwrap();
    let git = Git::at(&source, &|| false).with_our_name("@0 +0000");
    fs::write(source.join("x"), "x").unwrap();
    let file = git.text(&["hash-object", "-w", "x"]).unwrap();
    let mut held = (String::from("100644"), file);
    for _ in 0..10 {
        let (mode, object) = &held;
        held = (String::from("40000"), tree_of_ten(&git, scratch.path(), mode, object));
    }
    let commit = git.text(&["commit-tree", &held.1, "-m", "Bomb"]).unwrap();
    git.run(&["update-ref", "refs/heads/main", &commit]).unwrap();
    let bundle = scratch.path().join("bundle");
    pack(&git, &bundle, &["refs/heads/main"]).unwrap();
    assert!(fs::metadata(&bundle).unwrap().len() < 4096);
    assert_refused(&directory, &start, &bundle, &commit, "more files than can be listed");
}

#[test]
fn a_result_may_have_only_so_much_more_than_its_beginning() {
    let scratch = tempfile::tempdir().unwrap();
    let (directory, start) = started(scratch.path());
    let large = "0".repeat(3 << 20);
    let (bundle, commit) = hostile_bundle(scratch.path(), "100644", "large", &large);
    assert!(fs::metadata(&bundle).unwrap().len() < 16_384, "it is packed");
    let repository = Repository::find(&directory).unwrap();
    let git = repository.git(&|| false);
    let before = everything(&directory);
    let growth = |bytes, files| {
        receive_change(&git, &bundle, &start, &commit, Extent { bytes, files })
            .map_err(|error| error.to_string())
    };
    let expected = "the files that were sent are refused: unpacked, they are 1 files with 3 MB, and the limit is 11 files \
                    with 2 MB";
    assert_eq!(growth(2 << 20, 10), Err(expected.to_owned()));
    assert_eq!(everything(&directory), before);
    assert_eq!(growth(3 << 20, 0), Ok(()));
}
