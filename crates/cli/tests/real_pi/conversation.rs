//! Speaking to the real pi, which runs in its RPC mode.

use std::fs;

use serde_json::{Value, json};
use test_support::{Ran, Running, wait_until};

use crate::{PiWorld, bash, events};

const WAIT: &str = "touch working; until [ -e go ]; do sleep 0.02; done; echo ready";

/// A run whose command is under way.
fn working(pi: &PiWorld) -> Running {
    let run = pi.start(&["--name", "talk"]);
    wait_until(|| pi.world.project().join("working").exists());
    run
}

fn let_go(pi: &PiWorld) {
    fs::write(pi.world.project().join("go"), "").unwrap();
}

fn tell(pi: &PiWorld, arguments: &[&str]) -> Ran {
    pi.world.run(&[&["tell", "talk"], arguments].concat())
}

/// What the user has said in a request, besides the prompt.
fn told(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let of_user = messages.into_iter().filter(|message| message["role"] == "user").skip(1);
    let text = |message: Value| match &message["content"] {
        Value::String(text) => text.clone(),
        content => content[0]["text"].as_str().unwrap_or_default().to_owned(),
    };
    of_user.map(text).collect()
}

fn lives(task: &Value) -> Vec<String> {
    let of = |kind: &str| {
        let events = events(task, &format!("message_{kind}")).into_iter();
        events.map(|event| format!("{} {kind}", event["number"])).collect::<Vec<_>>()
    };
    [of("accepted"), of("delivered"), of("refused")].concat()
}

#[test]
fn a_message_sent_while_a_command_runs_is_in_the_very_next_request() {
    let pi = PiWorld::new(&json!([bash(WAIT), {"text": "I looked in src."}]));
    let run = working(&pi);
    let telling = pi.world.command(["tell", "talk", "--wait", "Not there, look in src."]);
    let telling = Running::start(telling);
    let accepted = || {
        let events = fs::read_to_string(pi.world.only_run().join("events.jsonl"));
        events.unwrap_or_default().contains("message_accepted")
    };
    wait_until(accepted);
    assert_eq!(pi.asked().len(), 1, "it is not delivered yet");
    let_go(&pi);
    let waited = telling.finish();
    assert_eq!(told(&pi.asked()[1]), ["Not there, look in src."]);
    assert_eq!(waited.stdout, "Message 1 delivered.\n", "{waited:?}");
    let ran = run.finish();
    assert_eq!(
        (ran.code, &ran.task()["output"]),
        (Some(0), &json!("I looked in src.")),
        "{ran:#?}"
    );
    assert_eq!(lives(&ran.task()), ["1 accepted", "1 delivered"]);
    assert_eq!(pi.asked().len(), 2);
    pi.world.assert_nothing_left();
}

#[test]
fn a_message_for_the_end_is_a_further_turn_and_the_exit_is_clean() {
    let pi = PiWorld::new(&json!([bash(WAIT), {"text": "first"}, {"text": "second"}]));
    let run = working(&pi);
    assert_eq!(tell(&pi, &["--after", "Now the changelog."]).code, Some(0));
    let_go(&pi);
    let ran = run.finish();
    assert_eq!((ran.code, &ran.task()["output"]), (Some(0), &json!("second")), "{ran:#?}");
    assert_eq!(told(&pi.asked()[1]), [""; 0]);
    assert_eq!(told(&pi.asked()[2]), ["Now the changelog."]);
    assert_eq!(lives(&ran.task()), ["1 accepted", "1 delivered"]);
    let late = tell(&pi, &["Are you there?"]);
    assert!(late.code == Some(1) && late.stderr.contains("the run has ended"), "{late:?}");
    pi.world.assert_nothing_left();
}

#[test]
fn an_interruption_ends_the_command_and_the_run_goes_on() {
    let pi = PiWorld::new(&json!([bash("touch working; sleep 100000"), {"text": "Then not."}]));
    let run = working(&pi);
    let waited = tell(&pi, &["--interrupt", "--wait", "That takes too long."]);
    assert_eq!(waited.stdout, "Message 1 delivered.\n", "{waited:?}");
    let ran = run.finish();
    assert_eq!((ran.code, &ran.task()["outcome"]), (Some(0), &json!("completed")), "{ran:#?}");
    let last = pi.asked().pop().unwrap();
    assert_eq!(told(&last), ["That takes too long."]);
    assert_eq!(lives(&ran.task()), ["1 accepted", "1 delivered"]);
    pi.world.assert_nothing_left();
}

#[test]
fn a_prompt_that_pi_refuses_is_an_error_with_pis_reason() {
    let pi = PiWorld::new(&json!([]));
    let provider = json!({"baseUrl": pi.llm.base_url(), "api": "openai-completions",
        "models": [{"id": "fake-1"}]});
    pi.agent_file("models.json", &json!({"providers": {"fake": provider}}).to_string());
    let ran = pi.run(&["--agent", "pi"]);
    assert_eq!((ran.code, &ran.task()["status"]), (Some(1), &json!("error")), "{ran:#?}");
    assert!(ran.task()["error"].to_string().contains("API key"), "{ran:#?}");
}

/// A dialog of an extension would wait for a user for ever.
#[test]
fn an_extension_that_asks_its_user_gets_no_answer_and_the_run_goes_on() {
    let pi = PiWorld::new(&json!([{"text": "done"}]));
    let extension = pi.world.agent_dir().join("extensions/asks.ts");
    let source = "import { writeFileSync } from 'node:fs';\n\
        export default function (pi) {\n\
          pi.on('before_agent_start', async (_event, ctx) => {\n\
            const answer = await ctx.ui.confirm('Really?', 'Shall I?');\n\
            writeFileSync('answer', String(answer));\n\
          });\n\
        }\n";
    test_support::write_file(&extension, source);
    let task = pi.complete(&[]);
    assert_eq!(task["output"], "done");
    assert_eq!(fs::read_to_string(pi.world.project().join("answer")).unwrap(), "false");
}

/// The same, where the user wants to be asked.
#[test]
fn an_extension_that_asks_its_user_gets_the_answer_where_questions_are_wanted() {
    let pi = PiWorld::new(&json!([{"text": "done"}]));
    let extension = pi.world.agent_dir().join("extensions/asks.ts");
    let source = "import { writeFileSync } from 'node:fs';\n\
        export default function (pi) {\n\
          pi.on('before_agent_start', async (_event, ctx) => {\n\
            const really = await ctx.ui.confirm('Really?', 'Shall I?');\n\
            const colour = await ctx.ui.select('Which?', ['red', 'blue']);\n\
            const name = await ctx.ui.input('Name?');\n\
            writeFileSync('answer', `${really} ${colour} ${name}`);\n\
          });\n\
        }\n";
    test_support::write_file(&extension, source);
    let run = pi.start(&["--name", "talk", "--ask"]);
    for (number, answer) in ["yes", "2", "Ada"].into_iter().enumerate() {
        let number = (number + 1).to_string();
        // It may not have asked yet.
        wait_until(|| pi.world.run(&["answer", "talk", &number, answer]).code == Some(0));
    }
    let ran = run.finish();
    assert_eq!((ran.code, &ran.task()["output"]), (Some(0), &json!("done")), "{ran:#?}");
    let answer = fs::read_to_string(pi.world.project().join("answer")).unwrap();
    assert_eq!(answer, "true blue Ada");
    let answered = events(&ran.task(), "question_answered");
    assert!(answered.len() == 3 && answered.iter().all(|it| it["by"] == "shell"), "{answered:?}");
    pi.world.assert_nothing_left();
}
