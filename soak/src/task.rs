//! What agents are asked to do, and what must come of it.
//!
//! A task carries its own script in its prompt. Its token is in the prompt, too, and in the answer, so
//! that no run can be taken for another one, and no answer can be there that was not said.

use serde_json::{Value, json};

use crate::random::Random;

/// Which agent carries a task out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    Fake,
    Builtin,
}

/// How an agent behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// It answers at once.
    Quick,
    /// It says something, thinks for so many milliseconds, and answers.
    Thoughtful(u64),
    /// It calls a tool, and answers.
    Handy,
    /// It says far more than a pipe holds, and answers.
    Talkative,
    /// It starts processes that would outlive it in sessions of their own, and answers.
    Fertile,
    /// The same with processes that ignore SIGTERM, as it does itself.
    Stubborn,
    /// It exits with a code.
    Failing,
    /// Its provider refuses.
    Refused,
    /// It says nothing.
    Silent,
    /// A signal kills it.
    Crashing,
    /// It makes the same call again and again.
    Looping,
    /// It never ends, and has a timeout of a second.
    Overdue,
}

/// One task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) token: String,
    pub(crate) agent: Agent,
    pub(crate) behaviour: Behaviour,
}

impl Task {
    /// Draws a task.
    pub(crate) fn draw(token: String, random: &mut Random) -> Task {
        let agent = if random.chance(35) { Agent::Builtin } else { Agent::Fake };
        let pause = random.within(100..2_500);
        let behaviours = [
            (24, Behaviour::Quick),
            (30, Behaviour::Thoughtful(pause)),
            (10, Behaviour::Handy),
            (6, Behaviour::Talkative),
            (8, Behaviour::Fertile),
            (1, Behaviour::Stubborn),
            (4, Behaviour::Failing),
            (5, Behaviour::Refused),
            (3, Behaviour::Silent),
            (4, Behaviour::Crashing),
            (3, Behaviour::Looping),
            (3, Behaviour::Overdue),
        ];
        let behaviour = random.weighted(&behaviours).unwrap_or(Behaviour::Quick);
        // A real agent does not do these on purpose.
        let is_fake_only = matches!(
            behaviour,
            Behaviour::Stubborn | Behaviour::Failing | Behaviour::Silent | Behaviour::Crashing
        );
        Task { token, agent: if is_fake_only { Agent::Fake } else { agent }, behaviour }
    }

    /// What it answers, if it does.
    pub(crate) fn answer(&self) -> String {
        format!("the answer of {}", self.token)
    }

    /// How it ends when nobody disturbs it.
    pub(crate) fn expected(&self) -> &'static str {
        match self.behaviour {
            Behaviour::Quick
            | Behaviour::Thoughtful(_)
            | Behaviour::Handy
            | Behaviour::Talkative
            | Behaviour::Fertile
            | Behaviour::Stubborn => "completed",
            Behaviour::Failing => "non_zero_exit",
            Behaviour::Refused => "provider_error",
            Behaviour::Silent => "no_assistant_message",
            Behaviour::Crashing => "killed_by_signal",
            Behaviour::Looping => "loop",
            Behaviour::Overdue => "timeout",
        }
    }

    /// Its timeout in seconds, if it has one of its own.
    pub(crate) fn timeout(&self) -> Option<u64> {
        (self.behaviour == Behaviour::Overdue).then_some(1)
    }

    /// The profile or preset that it is run with; see [`definitions`].
    pub(crate) fn definition(&self) -> &'static str {
        match (self.agent, self.timeout()) {
            (Agent::Fake, None) => "fake",
            (Agent::Fake, Some(_)) => "fake-hasty",
            (Agent::Builtin, None) => "builtin",
            (Agent::Builtin, Some(_)) => "builtin-hasty",
        }
    }

    /// The prompt, with the script in it.
    pub(crate) fn prompt(&self) -> String {
        let script = match self.agent {
            Agent::Fake => self.steps(),
            Agent::Builtin => self.turns(),
        };
        format!("[{}] Do it. <<SCRIPT>>{script}<<END>>", self.token)
    }

    /// The token of a prompt.
    pub(crate) fn token_in(prompt: &str) -> Option<&str> {
        prompt.split_once('[')?.1.split_once(']').map(|(token, _)| token)
    }

    /// The script of `fake-agent`.
    fn steps(&self) -> Value {
        let answer = |before: Value| {
            let mut steps = vec![json!("start")];
            steps.extend(before.as_array().cloned().unwrap_or_default());
            steps.extend([json!({"say": self.answer()}), json!({"end": false}), json!("settle")]);
            Value::Array(steps)
        };
        let said = json!({"message": {"text": "Let me see.", "stop": "toolUse"}});
        match self.behaviour {
            Behaviour::Quick => answer(json!([])),
            Behaviour::Thoughtful(pause) => answer(json!([said, {"sleep_ms": pause}])),
            Behaviour::Handy => {
                let tool = json!({"name": "bash", "args": {"command": "ls"}, "result": "a.txt"});
                answer(json!([said, {"tool": tool}, {"deltas": 200}]))
            }
            Behaviour::Talkative => {
                let line = json!({"message": {"text": "word ".repeat(40), "stop": "toolUse"}});
                answer(json!([{"repeat": {"times": 600, "steps": [line]}}]))
            }
            Behaviour::Fertile => {
                let child = json!({"spawn": {"steps": ["setsid", "hang"], "holds_stdout": true}});
                answer(json!([child, child, {"sleep_ms": 200}]))
            }
            Behaviour::Stubborn => {
                let child = json!({"spawn": {"steps": ["ignore_sigterm", "setsid", "hang"]}});
                answer(json!(["ignore_sigterm", child, {"sleep_ms": 200}]))
            }
            Behaviour::Failing => json!(["start", said, {"stderr": "no luck"}, {"exit": 3}]),
            Behaviour::Refused => {
                let error = json!({"text": "", "stop": "error", "error": "401: who are you"});
                json!(["start", {"message": error}, {"exit": 1}])
            }
            Behaviour::Silent => json!(["start"]),
            Behaviour::Crashing => json!(["start", said, {"signal": 9}]),
            Behaviour::Looping => {
                let tool = json!({"name": "read", "args": {"path": "a.txt"}, "result": "nothing"});
                json!(["start", {"repeat": {"times": 6, "steps": [{"tool": tool}]}}, "hang"])
            }
            Behaviour::Overdue => json!(["start", "hang"]),
        }
    }

    /// The script of `fake-llm`, for the built-in agent.
    fn turns(&self) -> Value {
        let answer = json!({"text": self.answer()});
        let bash =
            |command: &str| json!({"tools": [{"name": "bash", "args": {"command": command}}]});
        match self.behaviour {
            Behaviour::Quick => json!([answer]),
            Behaviour::Thoughtful(pause) => {
                json!([{"text": self.answer(), "chunk": 4, "delay_ms": pause / 10}])
            }
            Behaviour::Handy => json!([bash("sleep 0.2; ls"), answer]),
            Behaviour::Talkative => json!([{"text": "word ".repeat(8_000), "tools": [
                {"name": "bash", "args": {"command": "seq 20000"}},
            ]}, answer]),
            Behaviour::Fertile => {
                json!([bash("setsid sleep 600 >/dev/null 2>&1 & echo on"), answer])
            }
            Behaviour::Looping => Value::Array(vec![bash("true"); 8]),
            Behaviour::Overdue => json!([{"hang": true}]),
            // The others are only drawn for the fake one.
            _ => json!([{"error": 401, "error_message": "who are you"}]),
        }
    }
}

/// The profiles and presets that tasks are run with: their paths below the agent directory, and what
/// they say.
pub(crate) fn definitions() -> Vec<(String, String)> {
    let kinds = [("fake", "a/one", ""), ("builtin", "fake/fake-1", "agent: builtin\n")];
    let mut files = Vec::new();
    for (name, model, agent) in kinds {
        for (name, timeout) in [(name.to_owned(), ""), (format!("{name}-hasty"), "timeout: 1\n")] {
            let fields = format!("name: {name}\nmodel: {model}\n{agent}");
            files.push((format!("agent-profiles/{name}.md"), format!("---\n{fields}---\n")));
            let preset = format!("---\n{fields}description: For a soak.\n{timeout}---\n");
            files.push((format!("subagents/{name}.md"), preset));
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_tells_its_task_and_no_answer_stands_in_it_by_chance() {
        let mut random = Random::new(1);
        for number in 0..200 {
            let task = Task::draw(format!("t{number}"), &mut random);
            assert_eq!(Task::token_in(&task.prompt()), Some(task.token.as_str()));
            let answers = task.expected() == "completed";
            assert_eq!(task.prompt().contains(&task.answer()), answers, "{task:?}");
        }
    }
}
