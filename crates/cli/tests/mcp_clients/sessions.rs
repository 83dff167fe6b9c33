//! Sessions belong to the project: what one client starts is there for another, and for the shell.

use serde_json::{Value, json};
use test_support::fake_agent::quick;
use test_support::wait_until;

use crate::{
    Client, assert_only_results_are_left, completed, delegation, echo, let_leave, let_play,
    of_role, output_of, resumption, run_file, working_world, world,
};

with_both_clients!(the_shell_sees_what_a_client_starts, a_client_resumes_what_the_shell_started);

#[test]
fn typescript_resumes_what_python_started() {
    one_resumes_what_the_other_started(Client::TypeScript, Client::Python);
}

#[test]
fn python_resumes_what_typescript_started() {
    one_resumes_what_the_other_started(Client::Python, Client::TypeScript);
}

fn one_resumes_what_the_other_started(one: Client, other: Client) {
    let world = working_world();
    let options = json!({"calls": [delegation()], "stay": world.path("leave")});
    let mut first = other.start(&world, "call", &options);
    wait_until(|| world.path("working").exists());

    // While it runs, it can be read.
    let run = run_file(&world.only_run(), "meta.json")["runId"].as_str().unwrap().to_owned();
    let facts = one.play(&world, "call", &json!({"read": format!("subagent://run/{run}")}));
    assert_eq!(contents(&facts)["status"], "running", "{facts:#}");
    world.let_go();
    let (session, first_run) = completed(&first.facts()["answers"][0]);
    assert_eq!(first_run, run);

    let_play(&world, &echo());
    let mut second = one.start(
        &world,
        "call",
        &json!({
            "read": format!("subagent://session/{session}"),
            "calls": [resumption(&session), output_of(&session)],
            "stay": world.path("leave"),
        }),
    );
    let facts = second.facts();
    assert_eq!(facts["read"][0]["text"], "[prompt]: look\nworking on it\nfound it", "{facts:#}");
    let (resumed, second_run) = completed(&facts["answers"][0]);
    assert_eq!(resumed, session);
    assert_ne!(second_run, first_run);
    let output = &facts["answers"][1]["answer"]["structuredContent"]["output"];
    assert_eq!(output, CONTINUED, "{facts:#}");

    // Both are still connected, each with a server of its own.
    assert_eq!(of_role(&world, "mcp").len(), 2);
    let_leave(&world);
    first.finish();
    second.finish();
    assert_only_results_are_left(&world);
    assert_eq!(listed(&world), [(session, 2)]);
}

/// What an agent says that echoes its prompt, when it continues a session of a working one.
const CONTINUED: &str = "You said: Previously:\n\n--- Run 1 (completed, 3 messages) ---\n\nUser: look\n\n\
    Assistant: working on it\n\n\
    Assistant: found it\n\nInstructions:\n\ngo on";

fn the_shell_sees_what_a_client_starts(client: Client) {
    let world = world(&echo());
    let facts = client.play(&world, "call", &json!({"calls": [delegation()]}));
    let (session, _) = completed(&facts["answers"][0]);
    assert_eq!(listed(&world), [(session.clone(), 1)]);
    let output = world.run(&["sessions", "output", &session]);
    assert_eq!((output.code, output.stdout.trim()), (Some(0), "You said: look"), "{output:?}");
    assert_only_results_are_left(&world);
}

fn a_client_resumes_what_the_shell_started(client: Client) {
    let world = world(&echo());
    let started = world.play(&quick(), &["--name", "by hand"]);
    let session = started.task()["sessionId"].as_str().unwrap().to_owned();
    let facts = client.play(
        &world,
        "call",
        &json!({
            "read": format!("subagent://session/{session}"),
            "calls": [output_of(&session), resumption(&session), output_of(&session)],
        }),
    );
    assert_eq!(facts["read"][0]["text"], "[prompt]: do it\nfound it", "{facts:#}");
    let output = |at: usize| &facts["answers"][at]["answer"]["structuredContent"]["output"];
    assert_eq!(output(0), "found it");
    assert_eq!(completed(&facts["answers"][1]).0, session);
    let continued = "You said: Previously:\n\n--- Run 1 (completed, 2 messages) ---\n\nUser: do it\n\n\
                     Assistant: found it\n\n\
                     Instructions:\n\ngo on";
    assert_eq!(output(2), continued);
    assert_eq!(listed(&world), [(session, 2)]);
    assert_only_results_are_left(&world);
}

/// The JSON document that was read.
fn contents(facts: &Value) -> Value {
    serde_json::from_str(facts["read"][0]["text"].as_str().unwrap()).unwrap()
}

/// The sessions that the shell lists, with the number of their runs.
fn listed(world: &test_support::World) -> Vec<(String, usize)> {
    let listed = world.run(&["sessions", "list", "--json"]).json();
    let sessions = listed["sessions"].as_array().unwrap().iter();
    let id = |session: &Value| session["sessionId"].as_str().unwrap().to_owned();
    sessions.map(|session| (id(session), session["runs"].as_array().unwrap().len())).collect()
}
