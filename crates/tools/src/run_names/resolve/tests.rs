use std::path::Path;

use model::Lifetime;

use super::*;
use crate::testing::session_id;

/// A run in a project: its number, its session, its call and its name.
fn run(number: u64, session: u64, call: Option<&str>, name: &str) -> ListedRun {
    let path = format!("/runs/run-{number:06}");
    let label = RunLabel {
        session_id: session_id(session),
        call_id: call.map(|id| CallId::parse(id).unwrap()),
        name: name.to_owned(),
        lifetime: Lifetime::Foreground,
        created_at: number,
    };
    ListedRun { dir: RunDir::open(Path::new(&path)).unwrap(), label }
}

const FIRST: &str = "call-aaa1";
const SECOND: &str = "call-aab2";

/// A run of an earlier version; a call with two tasks; a call that resumed one of them.
fn runs() -> Vec<ListedRun> {
    vec![
        run(100, 0xaaaa_0000_0000_0001, None, "old"),
        run(200, 0xaabb_0000_0000_0002, Some(FIRST), "review"),
        run(201, 0xccdd_0000_0000_0003, Some(FIRST), "scout"),
        run(300, 0xaabb_0000_0000_0002, Some(SECOND), "review"),
    ]
}

/// What a word means in a few letters, or why it means nothing.
fn meaning(word: &str, wanted: Wanted) -> String {
    let runs = runs();
    let ids = |runs: &[&ListedRun]| {
        let ids = runs.iter().map(|run| run.run_id().as_str().trim_start_matches("run-000"));
        ids.collect::<Vec<_>>().join(" ")
    };
    match resolve(&runs, word, wanted) {
        Ok(Meaning::Run(run)) => format!("run {}", ids(&[run])),
        Ok(Meaning::Session(runs)) => format!("session {}", ids(&runs)),
        Ok(Meaning::Call(runs)) => format!("call {}", ids(&runs)),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_word_is_an_id_a_name_a_recent_run_or_a_beginning() {
    use Wanted::{Run, Runs, Session, Sessions};
    for (word, wanted, expected) in [
        ("run-000200", Run, "run 200"),
        ("run-000200", Session, "run 200"),
        ("aabb000000000002", Session, "session 200 300"),
        ("aabb000000000002", Run, "session 200 300"),
        (FIRST, Runs, "call 200 201"),
        (FIRST, Run, "call 200 201"),
        ("review", Run, "run 300"),
        ("review", Sessions, "run 300"),
        ("scout", Runs, "run 201"),
        ("@last", Run, "run 300"),
        ("@1", Session, "run 300"),
        ("@2", Run, "run 201"),
        ("@4", Run, "run 100"),
        ("@last", Runs, "call 300"),
        ("@2", Runs, "call 200 201"),
        ("@2", Sessions, "call 200 201"),
        ("@3", Sessions, "run 100"),
        ("run-0003", Run, "run 300"),
        ("aaaa", Session, "session 100"),
        ("ccd", Runs, "session 201"),
        ("call-aab", Run, "call 300"),
        ("call-aaa", Runs, "call 200 201"),
    ] {
        assert_eq!(meaning(word, wanted), expected, "{word} as {wanted:?}");
    }
}

#[test]
fn what_leads_to_one_session_is_not_ambiguous_where_a_session_is_wanted() {
    let runs = [run(100, 1, Some("run-0001-call"), "a"), run(101, 1, Some("run-0002-call"), "a")];
    let resolve = |word, wanted| resolve(&runs, word, wanted);
    assert!(matches!(resolve("run-0001", Wanted::Session), Ok(Meaning::Run(_))));
    let error = resolve("run-0001", Wanted::Run).unwrap_err().to_string();
    assert_eq!(
        error,
        "\"run-0001\" is the beginning of 2 ids: run-000101 (run of a), run-000100 (run of a)"
    );
}

#[test]
fn what_is_not_clear_is_refused_with_what_could_be_meant() {
    for (word, wanted, expected) in [
        (
            "aa",
            Wanted::Session,
            "\"aa\" is the beginning of 2 ids: aabb000000000002 (session of review), \
             aaaa000000000001 (session of old)",
        ),
        (
            "run-0002",
            Wanted::Run,
            "\"run-0002\" is the beginning of 2 ids: run-000201 (run of scout), run-000200 (run of \
             review)",
        ),
        (
            "call-aa",
            Wanted::Runs,
            "\"call-aa\" is the beginning of 2 ids: call-aab2 (call of review), call-aaa1 (call of 2 \
             tasks)",
        ),
        ("", Wanted::Run, "no run, session or task of this project is called \"\""),
        ("@0", Wanted::Run, "no run, session or task of this project is called \"@0\""),
        ("@5", Wanted::Run, "no run, session or task of this project is called \"@5\""),
        ("@4", Wanted::Runs, "no run, session or task of this project is called \"@4\""),
        ("../..", Wanted::Run, "no run, session or task of this project is called \"../..\""),
        ("AAAA", Wanted::Session, "no run, session or task of this project is called \"AAAA\""),
    ] {
        assert_eq!(meaning(word, wanted), expected, "{word} as {wanted:?}");
    }
    let similar = |word, wanted| match resolve(&runs(), word, wanted) {
        Err(NameError::NotFound { similar, .. }) => similar,
        other => panic!("{other:?}"),
    };
    assert_eq!(similar("Review", Wanted::Run), ["review"]);
    assert_eq!(similar("scuot", Wanted::Run), ["scout"]);
    assert_eq!(similar("aaaa000000000002", Wanted::Session)[0], "aaaa000000000001");
    assert_eq!(similar("run-000210", Wanted::Run)[0], "run-000200");
    assert!(similar("something", Wanted::Run).is_empty());
}

#[test]
fn a_call_with_several_runs_is_not_one() {
    let runs = runs();
    let call = || resolve(&runs, FIRST, Wanted::Run).unwrap();
    let expected =
        "\"word\" is a call with 2 runs: run-000200 (run of review), run-000201 (run of scout)";
    assert_eq!(call().only_run("word").unwrap_err().to_string(), expected);
    assert_eq!(call().only_session("word").unwrap_err().to_string(), expected);
    assert_eq!(call().runs().len(), 2);
    let only = resolve(&runs, SECOND, Wanted::Run).unwrap();
    assert_eq!(only.only_run("word").unwrap().run_id().as_str(), "run-000300");
    // Of a session, the latest run.
    let session = resolve(&runs, "aabb000000000002", Wanted::Run).unwrap();
    assert_eq!(session.only_run("word").unwrap().run_id().as_str(), "run-000300");
}

#[test]
fn a_long_list_has_an_end() {
    let runs: Vec<ListedRun> = (0..40).map(|number| run(number, number, None, "a")).collect();
    let error = resolve(&runs, "run-", Wanted::Run).unwrap_err().to_string();
    assert!(
        error.starts_with("\"run-\" is the beginning of 40 ids, such as run-000039"),
        "{error}"
    );
    assert_eq!(error.matches("run of a").count(), MOST_CANDIDATES);
}
