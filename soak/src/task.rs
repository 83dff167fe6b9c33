//! Tasks, and how they must end.
//!
//! A prompt contains the script of its task. The token of the task is in the prompt and in the answer, so that
//! the audit can tell runs apart and see that each answer is the right one.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::agent::{Agent, ask};
use crate::random::Random;

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
    /// It has a budget of two messages of its model, and sends more.
    SpendsTooMuch,
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
        let agents = [
            (50, Agent::Fake),
            (30, Agent::Builtin),
            (7, Agent::Claude),
            (7, Agent::Codex),
            (6, Agent::Acp),
        ];
        let agent = random.weighted(&agents).unwrap_or(Agent::Fake);
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
            (3, Behaviour::SpendsTooMuch),
        ];
        let behaviour = random.weighted(&behaviours).unwrap_or(Behaviour::AnswersAtOnce);
        let agent = match behaviour {
            Behaviour::Asks(_) => Agent::Acp,
            // Only this one can do them with every protocol alike.
            Behaviour::ExitsWithCode | Behaviour::SaysNothing | Behaviour::SpendsTooMuch => {
                Agent::Fake
            }
            // A real agent does not do these by itself.
            Behaviour::IgnoresSigterm | Behaviour::IsKilled if agent == Agent::Builtin => {
                Agent::Fake
            }
            _ => agent,
        };
        let access = random.chance(12).then(|| ACCESSES[usize::from(random.chance(50))]);
        let is_isolated = agent == Agent::Fake && random.chance(25);
        // What writes a file must be allowed to.
        // A few are never recorded. A tenth of those that are has it.
        let access = access.map(|access| if is_isolated { WORKSPACE } else { access });
        let access = access.filter(|_| *HAS_LANDLOCK);
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
            Behaviour::SpendsTooMuch => "budget",
        }
    }

    /// Its timeout in seconds, if it has one of its own.
    pub(crate) fn timeout(&self) -> Option<u64> {
        (self.behaviour == Behaviour::TimesOut).then_some(1)
    }

    /// The profile or preset that it is run with; see [`definitions`].
    pub(crate) fn definition(&self) -> String {
        let agent = self.agent.word();
        let pace = match self.behaviour {
            Behaviour::TimesOut => "-hasty",
            Behaviour::SpendsTooMuch => "-thrifty",
            _ => "",
        };
        let access = self.access.map(|access| format!("-{access}")).unwrap_or_default();
        let isolated = if self.is_isolated { "-worktree" } else { "" };
        format!("{agent}{pace}{access}{isolated}")
    }

    /// The prompt, with the script in it.
    pub(crate) fn prompt(&self) -> String {
        let mut script = match self.agent {
            Agent::Builtin => self.turns(),
            _ => Value::Array(self.steps()),
        };
        if let (true, Some(steps)) = (self.is_isolated, script.as_array_mut()) {
            let (token, made) = (&self.token, made_name(&self.token));
            let mut write = format!("echo {token} > {made}");
            // The mark says that the file is complete, and what must not be lost. It is outside the workspace.
            if self.access.is_none() {
                write += &format!(" && mkdir -p ~/{MARKS} && touch ~/{MARKS}/{token}");
            }
            steps.insert(1, json!({"shell": write}));
        }
        format!("[{}{ORDER}{script}<<END>>", self.token)
    }

    /// The token of a prompt. That of a resumed run begins with what was said before.
    pub(crate) fn token_in(prompt: &str) -> Option<&str> {
        let (before, _) = prompt.rsplit_once(ORDER)?;
        before.rsplit_once('[').map(|(_, token)| token)
    }

    /// The script of `fake-agent`.
    fn steps(&self) -> Vec<Value> {
        let agent = self.agent;
        let said = || agent.say("Let me see.");
        let pause = |milliseconds: u64| json!({"sleep_ms": milliseconds});
        let work = match self.behaviour {
            Behaviour::AnswersAtOnce => Vec::new(),
            Behaviour::Pauses(milliseconds) => [said(), vec![pause(milliseconds)]].concat(),
            Behaviour::CallsTool => [said(), agent.call(1)].concat(),
            Behaviour::PrintsMuch => {
                let line = agent.say(&"word ".repeat(40));
                vec![json!({"repeat": {"times": 600, "steps": line}})]
            }
            Behaviour::LeavesProcesses => {
                let child = json!({"spawn": {"steps": ["setsid", "hang"], "holds_stdout": true}});
                vec![child.clone(), child, pause(200)]
            }
            Behaviour::IgnoresSigterm => {
                let child = json!({"spawn": {"steps": ["ignore_sigterm", "setsid", "hang"]}});
                vec![json!("ignore_sigterm"), child, pause(200)]
            }
            Behaviour::Asks(questions) => (1..=questions).map(ask).collect(),
            Behaviour::ExitsWithCode => {
                [said(), vec![json!({"stderr": "no luck"}), json!({"exit": 3})]].concat()
            }
            Behaviour::IsRefused => agent.refuse("401: who are you"),
            Behaviour::SaysNothing => vec![json!({"exit": 0})],
            Behaviour::IsKilled => [said(), vec![json!({"signal": 9})]].concat(),
            Behaviour::Loops => {
                let calls = (1..=6).flat_map(|number| agent.call(number));
                calls.chain([json!("hang")]).collect()
            }
            Behaviour::TimesOut => vec![json!("hang")],
            Behaviour::SpendsTooMuch => {
                vec![json!({"repeat": {"times": 4, "steps": said()}}), json!("hang")]
            }
        };
        let ends_otherwise = self.expected() != "completed";
        let answer = if ends_otherwise { Vec::new() } else { agent.answer(&self.answer()) };
        [agent.start(), work, answer].concat()
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

/// What stands between the token and the script of a prompt.
const ORDER: &str = "] Do it. <<SCRIPT>>";

/// The directory below the home with a mark for each file that was written in a worktree.
pub(crate) const MARKS: &str = "made";

/// The file that a task writes in its worktree, with its token in it.
pub(crate) fn made_name(token: &str) -> String {
    format!("made-{token}.txt")
}

/// The restricted kinds of access.
const ACCESSES: [&str; 2] = ["read", WORKSPACE];
const WORKSPACE: &str = "workspace";

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
        (Agent::Fake, "model: a/one\n", ""),
        (Agent::Builtin, "model: fake/fake-1\nagent: builtin\n", ""),
        // The others would be restricted without a word about it, which not every kernel can do.
        (Agent::Claude, "agent: fake-claude\n", "access: full\n"),
        (Agent::Codex, "agent: fake-codex\n", "access: full\n"),
        (Agent::Acp, "agent: fake-acp\n", "access: full\n"),
    ];
    let mut files = Vec::new();
    for (agent, fields, usual_access) in kinds {
        let name = agent.word();
        let paces = [
            (name.to_owned(), ""),
            (format!("{name}-hasty"), "timeout: 1\n"),
            (format!("{name}-thrifty"), ""),
        ];
        let restricted = paces.clone().into_iter().flat_map(|(name, timeout)| {
            ACCESSES.map(|access| (format!("{name}-{access}"), timeout, Some(access)))
        });
        let isolated = paces.clone().into_iter().flat_map(|(name, timeout)| {
            let restricted = (format!("{name}-{WORKSPACE}-worktree"), timeout, Some(WORKSPACE));
            [(format!("{name}-worktree"), timeout, None), restricted]
        });
        let free = paces.into_iter().map(|(name, timeout)| (name, timeout, None));
        for (name, timeout, access) in free.chain(restricted).chain(isolated) {
            let access = access.map(|access| format!("access: {access}\n"));
            let access = access.as_deref().unwrap_or(usual_access);
            let isolation = if name.ends_with("-worktree") { "isolation: worktree\n" } else { "" };
            let is_thrifty = name.contains("-thrifty");
            let budget = if is_thrifty { "budget: {turns: 2}\n" } else { "" };
            let fields = format!("name: {name}\n{fields}{access}{isolation}{budget}");
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
    fn a_prompt_has_its_token_and_an_answer_only_if_the_script_has_one_and_a_tenth_is_restricted() {
        let mut random = Random::new(1);
        let mut restricted = 0;
        for number in 0..200 {
            let task = Task::draw(format!("t{number}"), &mut random);
            assert_eq!(Task::token_in(&task.prompt()), Some(task.token.as_str()));
            let answers = task.expected() == "completed";
            assert_eq!(task.prompt().contains(&task.answer()), answers, "{task:?}");
            restricted += usize::from(task.access.is_some());
        }
        assert!(!*HAS_LANDLOCK || (10..40).contains(&restricted), "{restricted}");
    }
}
