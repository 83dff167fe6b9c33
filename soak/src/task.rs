//! Tasks, and how they must end.
//!
//! A prompt contains the script of its task. The token of the task is in the prompt and in the answer, so that
//! the audit can tell runs apart and see that each answer is the right one.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::random::Random;

/// The agent that runs a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    Fake,
    Builtin,
    /// The fake agent, which speaks the Agent Client Protocol and asks for permissions.
    Asker,
}

/// How an agent behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// It answers at once.
    AnswersAtOnce,
    /// It sends a message, waits for so many milliseconds, and answers.
    Pauses(u64),
    /// It calls a tool, and answers.
    CallsTool,
    /// It prints far more than a pipe holds, and answers.
    PrintsMuch,
    /// It starts processes that would outlive it in sessions of their own, and answers.
    LeavesProcesses,
    /// The same with processes that ignore SIGTERM, as it does itself.
    IgnoresSigterm,
    /// It exits with a code.
    ExitsWithCode,
    /// Its provider refuses.
    IsRefused,
    /// It sends no message.
    SaysNothing,
    /// A signal kills it.
    IsKilled,
    /// It makes the same call again and again.
    Loops,
    /// It never ends, and has a timeout of a second.
    TimesOut,
    /// It asks so many times whether it may run a command, and answers whatever it is told.
    Asks(u64),
}

/// One task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) token: String,
    pub(crate) agent: Agent,
    pub(crate) behaviour: Behaviour,
    /// What it may change, if that is restricted.
    pub(crate) access: Option<&'static str>,
    /// Whether it works in a worktree of its own, and writes a file there; see [`made_name`].
    pub(crate) is_isolated: bool,
}

impl Task {
    /// Draws a task.
    pub(crate) fn draw(token: String, random: &mut Random) -> Task {
        let agent = if random.chance(35) { Agent::Builtin } else { Agent::Fake };
        let pause = random.within(100..2_500);
        let questions = random.within(1..4);
        let behaviours = [
            (24, Behaviour::AnswersAtOnce),
            (30, Behaviour::Pauses(pause)),
            (10, Behaviour::CallsTool),
            (6, Behaviour::PrintsMuch),
            (8, Behaviour::LeavesProcesses),
            (1, Behaviour::IgnoresSigterm),
            (4, Behaviour::ExitsWithCode),
            (5, Behaviour::IsRefused),
            (3, Behaviour::SaysNothing),
            (4, Behaviour::IsKilled),
            (3, Behaviour::Loops),
            (3, Behaviour::TimesOut),
            (6, Behaviour::Asks(questions)),
        ];
        let behaviour = random.weighted(&behaviours).unwrap_or(Behaviour::AnswersAtOnce);
        // A real agent does not do these by itself.
        let is_fake_only = matches!(
            behaviour,
            Behaviour::IgnoresSigterm
                | Behaviour::ExitsWithCode
                | Behaviour::SaysNothing
                | Behaviour::IsKilled
        );
        let agent = match behaviour {
            Behaviour::Asks(_) => Agent::Asker,
            _ if is_fake_only => Agent::Fake,
            _ => agent,
        };
        let access = random.chance(10).then(|| ACCESSES[usize::from(random.chance(50))]);
        let is_isolated = agent == Agent::Fake && random.chance(25);
        let access = access.filter(|_| *HAS_LANDLOCK && !is_isolated);
        Task { token, agent, behaviour, access, is_isolated }
    }

    /// What it answers, if it does.
    pub(crate) fn answer(&self) -> String {
        format!("the answer of {}", self.token)
    }

    /// Its outcome when no fault hits it.
    pub(crate) fn expected(&self) -> &'static str {
        match self.behaviour {
            Behaviour::AnswersAtOnce
            | Behaviour::Pauses(_)
            | Behaviour::CallsTool
            | Behaviour::PrintsMuch
            | Behaviour::LeavesProcesses
            | Behaviour::IgnoresSigterm
            | Behaviour::Asks(_) => "completed",
            Behaviour::ExitsWithCode => "non_zero_exit",
            Behaviour::IsRefused => "provider_error",
            Behaviour::SaysNothing => "no_assistant_message",
            Behaviour::IsKilled => "killed_by_signal",
            Behaviour::Loops => "loop",
            Behaviour::TimesOut => "timeout",
        }
    }

    /// Its timeout in seconds, if it has one of its own.
    pub(crate) fn timeout(&self) -> Option<u64> {
        (self.behaviour == Behaviour::TimesOut).then_some(1)
    }

    /// The profile or preset that it is run with; see [`definitions`].
    pub(crate) fn definition(&self) -> String {
        let agent = match self.agent {
            Agent::Fake => "fake",
            Agent::Builtin => "builtin",
            Agent::Asker => "asker",
        };
        let hasty = self.timeout().map_or("", |_| "-hasty");
        let access = self.access.map(|access| format!("-{access}")).unwrap_or_default();
        let isolated = if self.is_isolated { "-worktree" } else { "" };
        format!("{agent}{hasty}{access}{isolated}")
    }

    /// The prompt, with the script in it.
    pub(crate) fn prompt(&self) -> String {
        let mut script = match self.agent {
            Agent::Fake | Agent::Asker => self.steps(),
            Agent::Builtin => self.turns(),
        };
        if let (true, Some(steps)) = (self.is_isolated, script.as_array_mut()) {
            // The mark says that the file is complete, and what must not be lost.
            let (token, made) = (&self.token, made_name(&self.token));
            let write =
                format!("echo {token} > {made} && mkdir -p ~/{MARKS} && touch ~/{MARKS}/{token}");
            steps.insert(1, json!({"shell": write}));
        }
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
            Behaviour::AnswersAtOnce => answer(json!([])),
            Behaviour::Pauses(pause) => answer(json!([said, {"sleep_ms": pause}])),
            Behaviour::CallsTool => {
                let tool = json!({"name": "bash", "args": {"command": "ls"}, "result": "a.txt"});
                answer(json!([said, {"tool": tool}, {"deltas": 200}]))
            }
            Behaviour::PrintsMuch => {
                let line = json!({"message": {"text": "word ".repeat(40), "stop": "toolUse"}});
                answer(json!([{"repeat": {"times": 600, "steps": [line]}}]))
            }
            Behaviour::LeavesProcesses => {
                let child = json!({"spawn": {"steps": ["setsid", "hang"], "holds_stdout": true}});
                answer(json!([child, child, {"sleep_ms": 200}]))
            }
            Behaviour::IgnoresSigterm => {
                let child = json!({"spawn": {"steps": ["ignore_sigterm", "setsid", "hang"]}});
                answer(json!(["ignore_sigterm", child, {"sleep_ms": 200}]))
            }
            Behaviour::ExitsWithCode => json!(["start", said, {"stderr": "no luck"}, {"exit": 3}]),
            Behaviour::IsRefused => {
                let error = json!({"text": "", "stop": "error", "error": "401: who are you"});
                json!(["start", {"message": error}, {"exit": 1}])
            }
            Behaviour::SaysNothing => json!(["start"]),
            Behaviour::IsKilled => json!(["start", said, {"signal": 9}]),
            Behaviour::Loops => {
                let tool = json!({"name": "read", "args": {"path": "a.txt"}, "result": "nothing"});
                json!(["start", {"repeat": {"times": 6, "steps": [{"tool": tool}]}}, "hang"])
            }
            Behaviour::TimesOut => json!(["start", "hang"]),
            Behaviour::Asks(questions) => {
                let mut steps: Vec<Value> = (1..=questions).map(ask).collect();
                steps.push(json!({"acp": {"say": self.answer()}}));
                steps.push(json!({"acp": {"answer": {"stopReason": "end_turn"}}}));
                steps.push(json!({"acp": "await_end"}));
                Value::Array(steps)
            }
        }
    }

    /// The script of `fake-llm`, for the built-in agent.
    fn turns(&self) -> Value {
        let answer = json!({"text": self.answer()});
        let bash =
            |command: &str| json!({"tools": [{"name": "bash", "args": {"command": command}}]});
        match self.behaviour {
            Behaviour::AnswersAtOnce => json!([answer]),
            Behaviour::Pauses(pause) => {
                json!([{"text": self.answer(), "chunk": 4, "delay_ms": pause / 10}])
            }
            Behaviour::CallsTool => json!([bash("sleep 0.2; ls"), answer]),
            Behaviour::PrintsMuch => json!([{"text": "word ".repeat(8_000), "tools": [
                {"name": "bash", "args": {"command": "seq 20000"}},
            ]}, answer]),
            Behaviour::LeavesProcesses => {
                json!([bash("setsid sleep 600 >/dev/null 2>&1 & echo on"), answer])
            }
            Behaviour::Loops => Value::Array(vec![bash("true"); 8]),
            Behaviour::TimesOut => json!([{"hang": true}]),
            // The others are only drawn for the fake agent.
            _ => json!([{"error": 401, "error_message": "who are you"}]),
        }
    }
}

/// The directory below the home with a mark for each file that was written in a worktree.
pub(crate) const MARKS: &str = "made";

/// The file that a task writes in its worktree, with its token in it.
pub(crate) fn made_name(token: &str) -> String {
    format!("made-{token}.txt")
}

/// The step in which an agent asks whether it may run a command. Each has another command: an agent that repeats
/// itself is stopped.
fn ask(number: u64) -> Value {
    let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
    let call = json!({"toolCallId": format!("c{number}"), "title": "run", "kind": "execute",
        "status": "pending", "rawInput": {"command": format!("make {number}")}});
    let params = json!({"toolCall": call,
        "options": [option("allowed", "allow_once"), option("rejected", "reject_once")]});
    json!({"acp": {"ask": {"method": "session/request_permission", "params": params}}})
}

/// The restricted kinds of access.
const ACCESSES: [&str; 2] = ["read", "workspace"];

/// Whether access can be restricted on this machine. Elsewhere such tasks would be refused.
static HAS_LANDLOCK: LazyLock<bool> = LazyLock::new(|| {
    // SAFETY: with this flag the kernel takes no pointer.
    #[expect(unsafe_code, reason = "no library has this system call")]
    let version = unsafe {
        let nothing = std::ptr::null::<u8>();
        libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, 1_u32)
    };
    version >= 3
});

/// The profiles and presets of the tasks: their paths below the agent directory, and their text.
pub(crate) fn definitions() -> Vec<(String, String)> {
    let kinds = [
        ("fake", "model: a/one\n", ""),
        ("builtin", "model: fake/fake-1\nagent: builtin\n", ""),
        // It would be restricted without a word about it, which not every kernel can do.
        ("asker", "agent: asker\n", "access: full\n"),
    ];
    let mut files = Vec::new();
    for (name, fields, usual_access) in kinds {
        let paces = [(name.to_owned(), ""), (format!("{name}-hasty"), "timeout: 1\n")];
        let restricted = paces.clone().into_iter().flat_map(|(name, timeout)| {
            ACCESSES.map(|access| (format!("{name}-{access}"), timeout, Some(access)))
        });
        let isolated = paces.clone().into_iter();
        let isolated = isolated.map(|(name, timeout)| (format!("{name}-worktree"), timeout, None));
        let free = paces.into_iter().map(|(name, timeout)| (name, timeout, None));
        for (name, timeout, access) in free.chain(restricted).chain(isolated) {
            let access = access.map(|access| format!("access: {access}\n"));
            let access = access.as_deref().unwrap_or(usual_access);
            let isolation = if name.ends_with("-worktree") { "isolation: worktree\n" } else { "" };
            let fields = format!("name: {name}\n{fields}{access}{isolation}");
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
    fn a_prompt_contains_its_token_and_an_answer_only_if_the_script_has_one() {
        let mut random = Random::new(1);
        for number in 0..200 {
            let task = Task::draw(format!("t{number}"), &mut random);
            assert_eq!(Task::token_in(&task.prompt()), Some(task.token.as_str()));
            let answers = task.expected() == "completed";
            assert_eq!(task.prompt().contains(&task.answer()), answers, "{task:?}");
        }
    }
}
