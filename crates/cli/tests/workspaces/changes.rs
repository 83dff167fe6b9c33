//! `changes`: what agents changed comes into the user's tree when the user asks, and never halfway.

use super::*;
use crate::live::terminal::Terminal;

#[test]
fn five_agents_of_which_two_conflict_and_the_others_are_merged() {
    let world = repository();
    let ran = delegate(
        &world,
        &[
            ("alpha", "echo alpha > alpha.txt"),
            ("beta", "echo beta > beta.txt"),
            ("gamma", "echo gamma > gamma.txt"),
            ("left", "sed -i s/two/left/ a.txt"),
            ("right", "sed -i s/two/right/ a.txt"),
        ],
        &[],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("The changes of \"left\" and \"right\" conflict in a.txt"),
        "{ran:?}"
    );
    assert_eq!(ran.stderr.matches("conflict in").count(), 1, "{ran:?}");
    assert_eq!(git(&world, &["status", "--porcelain"]), "");
    let merged = world.run(&["changes", "merge", "alpha", "beta", "gamma", "left"]);
    assert_eq!(merged.code, Some(0), "{merged:?}");
    assert_eq!(
        git(&world, &["log", "--format=%s %an"]),
        "left Me\ngamma Me\nbeta Me\nalpha Me\nFirst Me"
    );
    assert_eq!(git(&world, &["status", "--porcelain"]), "");
    let before = Untouched::of(&world);
    for action in ["merge", "apply"] {
        let refused = world.run(&["changes", action, "right"]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stdout.contains("conflicts with what is there, in a.txt"), "{refused:?}");
        assert_eq!(Untouched::of(&world), before, "{action}");
    }
    let list = world.run(&["changes", "list", "--json"]).json();
    let states: Vec<(&str, &Value)> = list["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|changes| (changes["name"].as_str().unwrap(), &changes["state"]))
        .collect();
    let merged = json!("merged");
    for (name, state) in states {
        assert_eq!(state, if name == "right" { &Value::Null } else { &merged }, "{name}");
    }
    assert_eq!(world.run(&["changes", "discard", "right"]).code, Some(0));
    let list = world.run(&["changes", "list"]);
    assert!(list.stdout.contains("discarded"), "{list:?}");
}

#[test]
fn applying_merges_with_uncommitted_work_and_leaves_the_index_alone() {
    let world = repository();
    run(&world, "sed -i s/three/THREE/ a.txt && echo n > new.txt && rm b.txt", &["--name", "t"]);
    write(&world, "a.txt", "ONE\ntwo\nthree\n");
    write(&world, "sub/c.txt", "staged\n");
    git(&world, &["add", "sub/c.txt"]);
    let staged = git(&world, &["diff", "--cached"]);
    let applied = world.run(&["changes", "apply", "t"]);
    assert_eq!(applied.code, Some(0), "{applied:?}");
    let read = |name: &str| fs::read_to_string(world.project().join(name)).ok();
    assert_eq!(read("a.txt").as_deref(), Some("ONE\ntwo\nTHREE\n"));
    assert_eq!((read("new.txt").as_deref(), read("b.txt")), (Some("n\n"), None));
    assert_eq!(git(&world, &["diff", "--cached"]), staged);
    assert_eq!(git(&world, &["log", "--format=%s"]), "First");
    assert_eq!(left(&world), Vec::<String>::new());
}

#[test]
fn several_are_applied_at_once_and_one_that_conflicts_stops_no_other() {
    let world = repository();
    let ran = delegate(
        &world,
        &[
            ("alpha", "echo alpha > alpha.txt"),
            ("left", "sed -i s/two/left/ a.txt"),
            ("right", "sed -i s/two/right/ a.txt && echo right > right.txt"),
            ("beta", "echo beta > beta.txt && rm b.txt"),
        ],
        &["--quiet"],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let index = Untouched::of(&world).index;
    let applied = world.run(&["changes", "apply", "alpha", "left", "right", "beta", "--json"]);
    assert_eq!(applied.code, Some(1), "{applied:?}");
    let document = applied.json();
    let landed = document["changes"].as_array().unwrap().iter();
    let landed: Value =
        landed.map(|one| json!([one["name"], one["outcome"], one["files"]])).collect();
    let expected = json!([
        ["alpha", "applied", []],
        ["left", "applied", []],
        ["right", "conflict", ["a.txt"]],
        ["beta", "applied", []],
    ]);
    assert_eq!(landed, expected);
    assert_eq!(
        git(&world, &["status", "--porcelain"]),
        " M a.txt\n D b.txt\n?? alpha.txt\n?? beta.txt"
    );
    assert_eq!(fs::read_to_string(world.project().join("a.txt")).unwrap(), "one\nleft\nthree\n");
    assert_eq!((Untouched::of(&world).index, left(&world)), (index, Vec::new()));
    assert_eq!(git(&world, &["log", "--format=%s"]), "First");
}

#[test]
fn merging_leaves_uncommitted_work_and_refuses_to_overwrite_it() {
    let world = repository();
    run(&world, "echo changed > b.txt", &["--name", "t"]);
    write(&world, "a.txt", "mine\n");
    write(&world, "b.txt", "mine too\n");
    let before = Untouched::of(&world);
    let refused = world.run(&["changes", "merge", "t"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stdout.contains("would overwrite what is not committed, in b.txt"),
        "{refused:?}"
    );
    assert_eq!(Untouched::of(&world), before);
    git(&world, &["checkout", "--quiet", "b.txt"]);
    assert_eq!(world.run(&["changes", "merge", "t"]).code, Some(0));
    assert_eq!(git(&world, &["status", "--porcelain"]), " M a.txt");
    assert_eq!(git(&world, &["show", "HEAD:b.txt"]), "changed");
}

#[test]
fn a_diff_is_for_other_programs_and_shown_with_its_files() {
    let world = repository();
    run(&world, "sed -i s/two/2/ a.txt", &["--name", "t"]);
    let diff = world.run(&["changes", "diff", "t"]);
    assert!(diff.stdout.starts_with("diff --git a/a.txt b/a.txt\n"), "{diff:?}");
    assert!(diff.stdout.contains("\n-two\n+2\n"), "{diff:?}");
    let show = world.run(&["changes", "show", "@last"]);
    assert!(show.stdout.starts_with("t: 1 file +1 −1\n  a.txt  +1 −1\n"), "{show:?}");
    let json = world.run(&["changes", "show", "t", "--json"]).json();
    assert_eq!(json["changes"][0]["changedFiles"][0]["path"], "a.txt");
    let ran = world.play(&test_support::fake_agent::quick(), &["--name", "plain"]);
    assert_eq!(ran.code, Some(0));
    let refused = world.run(&["changes", "show", "plain"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("\"plain\" did not work in a worktree"), "{refused:?}");
}

#[test]
fn a_diff_for_other_programs_has_every_byte() {
    let world = repository();
    let ran = run(&world, "printf 'caf\\351\\n' > latin.txt", &["--name", "t"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let diff = world.command(["changes", "diff", "t"]).output().unwrap().stdout;
    let path = world.path("t.patch");
    fs::write(&path, diff).unwrap();
    git(&world, &["apply", path.to_str().unwrap()]);
    assert_eq!(fs::read(world.project().join("latin.txt")).unwrap(), b"caf\xe9\n");
}

#[test]
fn several_are_shown_printed_and_discarded_at_once() {
    let world = repository();
    let tasks = [("one", "echo 1 > one.txt"), ("two", "echo 2 > two.txt"), ("three", "rm b.txt")];
    assert_eq!(delegate(&world, &tasks, &["--quiet"]).code, Some(0));
    let show = world.run(&["changes", "show", "two", "one"]);
    let heads = show.stdout.lines().filter(|line| line.ends_with(": 1 file +1 −0"));
    assert_eq!(heads.collect::<Vec<_>>(), ["two: 1 file +1 −0", "one: 1 file +1 −0"], "{show:?}");
    let diff = world.run(&["changes", "diff", "one", "three"]);
    let files = diff.stdout.lines().filter(|line| line.starts_with("diff --git "));
    let expected = ["diff --git a/one.txt b/one.txt", "diff --git a/b.txt b/b.txt"];
    assert_eq!(files.collect::<Vec<_>>(), expected, "{diff:?}");
    // What is printed is what git applies.
    let document = world.run(&["changes", "show", "one", "two", "--json"]).json();
    let shown = document["changes"].as_array().unwrap().iter();
    let shown: Value =
        shown.map(|one| json!([one["name"], one["changedFiles"][0]["path"]])).collect();
    assert_eq!(shown, json!([["one", "one.txt"], ["two", "two.txt"]]));
    let discarded = world.run(&["changes", "discard", "one", "two"]);
    let lines = "one: discarded, 1 file +1 −0\ntwo: discarded, 1 file +1 −0\n";
    assert_eq!((discarded.code, discarded.stdout.as_str()), (Some(0), lines), "{discarded:?}");
    let list = world.run(&["changes", "list", "--json"]).json();
    let states = list["changes"].as_array().unwrap().iter();
    let states: Vec<&Value> = states.map(|one| &one["state"]).collect();
    let count = states.iter().filter(|state| **state == "discarded").count();
    assert_eq!((states.len(), count), (3, 2), "{list}");
    let unknown = world.run(&["changes", "discard", "three", "nobody"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
}

#[test]
fn a_diff_on_a_terminal_has_colours_unless_none_are_wanted_and_does_not_act() {
    let world = repository();
    run(
        &world,
        "sed -i s/two/2/ a.txt && printf 'a\\033]0;title\\007b\\n' > new.txt",
        &["--name", "t"],
    );
    for action in ["show", "diff"] {
        for (no_colour, is_coloured) in [("", true), ("1", false)] {
            let mut command = world.command(["changes", action, "t"]);
            command.env("TERM", "xterm-256color").env("NO_COLOR", no_colour);
            let mut terminal = Terminal::start(&command, 100, 50);
            assert_eq!(terminal.finish(), Some(0));
            let bytes = terminal.bytes();
            let case = format!("{action}, {no_colour:?}: {bytes:?}");
            for coloured in [
                "\u{1b}[33mdiff --git a/a.txt b/a.txt",
                "\u{1b}[36m@@ -1,3 +1,3 @@",
                "\u{1b}[31m-two",
                "\u{1b}[32m+2",
            ] {
                assert_eq!(bytes.contains(coloured), is_coloured, "{case}");
                let (_, plain) = coloured.split_once('m').unwrap();
                assert!(terminal.text().contains(plain), "{case}");
            }
            assert_eq!(bytes.contains('\u{1b}'), is_coloured, "{case}");
            assert!(!bytes.contains("\u{1b}]") && terminal.text().contains("+a"), "{case}");
        }
    }
    // A program that reads it gets what git prints.
    let diff = world.run(&["changes", "diff", "t"]);
    assert!(diff.stdout.contains("+a\u{1b}]0;title\u{7}b\n"), "{diff:?}");
}

#[test]
fn the_report_shows_the_diff_and_nothing_in_it_is_markup() {
    let world = repository();
    let task = run(&world, "echo '</script><!-- <img src=x>' >> a.txt", &["--name", "t"]).task();
    let export = ["sessions", "export", "t", "--format", "html"];
    let page = world.run(&export);
    assert_eq!((page.code, page.stderr.as_str()), (Some(0), ""), "{page:?}");
    assert!(page.stdout.contains("<small>1 file +1 −0</small>"), "{page:?}");
    let added = "<span class=\"added\">+&lt;/script&gt;&lt;!-- &lt;img src=x&gt;</span>";
    assert!(page.stdout.contains(added), "{page:?}");
    assert_eq!(page.stdout.matches("</script>").count(), 1, "{page:?}");
    assert!(!page.stdout.contains("<!--") && !page.stdout.contains("<img"), "{page:?}");
    git(&world, &["update-ref", "-d", task["changes"]["ref"].as_str().unwrap()]);
    let page = world.run(&export);
    assert_eq!(page.code, Some(0), "{page:?}");
    assert!(page.stderr.contains("The page does not show what \"t\" changed: "), "{page:?}");
    assert!(!page.stdout.contains("class=\"changes\""), "{page:?}");
}

#[test]
fn without_isolation_a_file_that_commands_of_two_tasks_wrote_is_named() {
    let world = repository();
    // The times of files are those of a coarse clock, so each agent waits until that clock has moved on, before it writes and
    // after it.
    let moved = "mark=$(mktemp); now=$(mktemp)
        until [ $(($(date -r $now +%s%3N) - $(date -r $mark +%s%3N))) -gt 20 ]; do touch $now; done
        rm $mark $now";
    let script = |name: &str| {
        let write = format!("echo {name} > a.txt; echo {name} > {name}.txt");
        shell(&format!("{moved}\n{write}\n{moved}"))
    };
    let tasks = json!({"tasks": [
        {"name": "one", "prompt": prompt(&script("one"))},
        {"name": "two", "prompt": prompt(&script("two"))},
    ]});
    let index = Untouched::of(&world).index;
    let agent = prompted_agent(&world);
    let command = world.command(["delegate", "--json", "--concurrency", "1", "--agent", &agent]);
    let ran = world.feed(command, &tasks.to_string());
    let file = world.project().canonicalize().unwrap().join("a.txt");
    let warning = format!(
        "{} was written by \"one\" and \"two\"; \"two\" was last. Tasks with isolation \"worktree\" cannot \
         overwrite each other",
        file.display()
    );
    assert_eq!(ran.json()["warnings"], json!([warning]), "{ran:?}");
    assert_eq!((Untouched::of(&world).index, left(&world)), (index, Vec::new()));
}

#[test]
fn without_isolation_a_file_that_two_tasks_wrote_is_named() {
    let world = repository();
    let script = |after: &str| {
        json!([
            "start", {"await": world.path(after)},
            {"tool": {"name": "write", "args": {"path": "a.txt", "content": "x"}}},
            {"touch": world.path("first")}, {"say": "done"}, {"end": false}, "settle",
        ])
    };
    fs::write(world.path("begin"), "").unwrap();
    let tasks = json!({"tasks": [
        {"name": "one", "prompt": prompt(&script("begin"))},
        {"name": "two", "prompt": prompt(&script("first"))},
    ]});
    let agent = prompted_agent(&world);
    let command = world.command(["delegate", "--quiet", "--concurrency", "1", "--agent", &agent]);
    let ran = world.feed(command, &tasks.to_string());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let file = world.project().join("a.txt");
    let warning =
        format!("{} was written by \"one\" and \"two\"; \"two\" was last", file.display());
    assert!(ran.stderr.contains(&warning), "{ran:?}");
}
