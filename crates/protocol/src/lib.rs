//! How agents are started and how they speak. Each agent has a folder of its own, and nothing
//! outside of it knows the agent's arguments or records.
//!
//! [`Protocol::invocation`] turns a [`Start`], a description in no agent's words, into a command
//! line, an environment, files and secrets. A [`Reader`] turns the lines that an agent prints into [`Reading`]s: our events, what the agent
//! is doing, what to answer on its standard input, and whether it has said its last word. Where the agent
//! can be spoken to ([`Protocol::message_support`]), [`Reader::tell`] puts a message into the agent's words, and
//! later readings prove that it has arrived. Readers do no IO. How long lines are cut ([`Protocol::keep`] only says what must stay whole), how broken
//! JSON is mended ([`mend`]) and how long a text may be (`model::Event::bounded`) is the same for all.

mod acp;
mod api_key;
mod assignment;
mod claude;
mod codex;
mod conversation;
mod events;
mod json;
mod known;
mod open_calls;
mod pi;
mod profile_fields;
mod question;
mod reading;
#[cfg(test)]
mod retelling;
mod start;
mod version;

use model::{Access, Answer, Argument, Message};
use process::{Keep, Line};

pub use api_key::ApiKey;
pub use assignment::Assignment;
pub use claude::tools::our_name_of_claude_tool;
pub use conversation::Delivery;
pub use json::mend;
pub use known::{KnownAgent, SignIn, known_agents};
pub use profile_fields::{Configuration, ThinkingLevel};
pub use question::Asked;
pub use reading::{LastWord, Reading};
pub use start::{AgentState, Invocation, Origin, Start, StartError};
pub use version::{Version, VersionQuestion};

/// The protocols that are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// pi's JSON mode, which the built-in agent speaks as well.
    Pi,
    /// pi's RPC mode: the same stream, and commands on standard input. So does the built-in agent.
    PiRpc,
    /// The stream of Claude Code.
    Claude,
    /// The stream of Codex.
    Codex,
    /// The Agent Client Protocol, which many agents speak.
    Acp,
    /// Our own events, a line each as in `events.jsonl`: a run that another supervisor carries out.
    Events,
}

impl Protocol {
    const ALL: [Protocol; 6] = [
        Protocol::Pi,
        Protocol::PiRpc,
        Protocol::Claude,
        Protocol::Codex,
        Protocol::Acp,
        Protocol::Events,
    ];

    /// The protocols that a program of the user's own choice can speak.
    pub const OF_PROGRAMS: [Protocol; 4] =
        [Protocol::Pi, Protocol::Claude, Protocol::Codex, Protocol::Acp];

    /// The protocol of a word in `meta.json`. Runs of earlier versions have none and speak pi's.
    pub fn of(word: Option<&str>) -> Option<Protocol> {
        match word {
            None => Some(Protocol::Pi),
            Some(word) => Protocol::ALL.into_iter().find(|protocol| protocol.word() == word),
        }
    }

    /// The word in `meta.json`.
    pub fn word(self) -> &'static str {
        match self {
            Protocol::Pi => "pi",
            Protocol::PiRpc => "pi-rpc",
            Protocol::Claude => "claude",
            Protocol::Codex => "codex",
            Protocol::Acp => "acp",
            Protocol::Events => "events",
        }
    }

    /// Whether it is one of pi's, so that the agent takes pi's arguments and knows pi's models.
    pub fn is_of_pi(self) -> bool {
        matches!(self, Protocol::Pi | Protocol::PiRpc)
    }

    /// The protocol that an agent speaks if it has these arguments besides ours: they may need another
    /// mode of the agent.
    #[must_use]
    pub fn with_arguments(self, extra_args: &[String]) -> Protocol {
        match self {
            Protocol::PiRpc if pi::start::need_json_mode(extra_args) => Protocol::Pi,
            protocol => protocol,
        }
    }

    /// Whether an agent of this protocol can be spoken to while it works; if not, why.
    pub fn message_support(self) -> Result<(), &'static str> {
        match self {
            Protocol::PiRpc | Protocol::Claude | Protocol::Acp | Protocol::Events => Ok(()),
            Protocol::Pi => {
                Err("this agent reads its prompt and nothing else: pi and the built-in \
                 agent can be spoken to where the agent is given by its name and no extraArgs choose \
                 its mode")
            }
            Protocol::Codex => Err("Codex reads its prompt and nothing else (`codex exec`)"),
        }
    }

    /// Whether an agent of this protocol tells what it costs; if not, why.
    pub fn cost_support(self) -> Result<(), &'static str> {
        match self {
            Protocol::Pi | Protocol::PiRpc | Protocol::Claude | Protocol::Events => Ok(()),
            Protocol::Codex => Err("Codex tells its tokens and never what they cost"),
            Protocol::Acp => {
                Err("an agent of the Agent Client Protocol need not tell what it costs")
            }
        }
    }

    /// Whether an agent of this protocol shows what it is told, so that it is known when it has begun with it.
    pub fn shows_messages(self) -> bool {
        match self {
            Protocol::Pi
            | Protocol::PiRpc
            | Protocol::Claude
            | Protocol::Codex
            | Protocol::Events => true,
            Protocol::Acp => false,
        }
    }

    /// Whether an agent of this protocol can ask its user something while it works; if not, why.
    pub fn question_support(self) -> Result<(), &'static str> {
        match self {
            Protocol::PiRpc | Protocol::Claude | Protocol::Acp | Protocol::Events => Ok(()),
            Protocol::Pi => Err("this agent gets no answers: it reads its prompt and nothing else"),
            Protocol::Codex => Err("Codex asks nothing (`codex exec`)"),
        }
    }

    /// The file in which an agent with this command keeps its conversation, and from which it goes on when it is started once
    /// more.
    pub fn conversation_file(self, command: &[String]) -> Option<&str> {
        if self.is_of_pi() { pi::start::conversation_file(command) } else { None }
    }

    /// Whether the run is relayed: the child passes on the events of another supervisor, which has applied rules, access and
    /// budgets, counts what is spent, decides when the agent reads a message and which questions wait for the user, and has
    /// reviewed the work.
    pub fn is_relayed(self) -> bool {
        self == Protocol::Events
    }

    /// What an agent of this protocol may change if no word is said about it. Agents of other makes ask
    /// their user before they change something; here they cannot, so they get less.
    pub fn default_access(self) -> Access {
        match self {
            Protocol::Pi | Protocol::PiRpc | Protocol::Events => Access::Full,
            Protocol::Claude | Protocol::Codex | Protocol::Acp => Access::Workspace,
        }
    }

    /// Whether the arguments of a program depend on its version.
    pub fn depends_on_version(self, configuration: &Configuration) -> bool {
        self.is_of_pi() && pi::version::matters(configuration)
    }

    /// The version of the program in the description of a package of npm, if it is this program's.
    pub fn version_in_package(self, json: &[u8]) -> Option<Version> {
        if self.is_of_pi() { pi::version::in_package(json) } else { None }
    }

    /// How an agent of this protocol is started.
    pub fn invocation(self, start: Start<'_>) -> Result<Invocation, StartError> {
        match self {
            Protocol::Pi => pi::start::invocation(start, pi::start::JSON_MODE),
            Protocol::PiRpc => pi::start::invocation(start, pi::start::RPC_MODE),
            Protocol::Claude => claude::start::invocation(&start),
            Protocol::Codex => codex::start::invocation(&start),
            Protocol::Acp => acp::start::invocation(&start),
            // The other supervisor makes a command of its own.
            Protocol::Events => {
                let command = start.program.into_iter().map(Argument::from).collect();
                Ok(Invocation { command, ..Invocation::default() })
            }
        }
    }

    /// Whether a long line must be kept whole, judged by its beginning.
    pub fn keep(self) -> fn(&[u8]) -> Keep {
        match self {
            Protocol::Pi => pi::stream::keep,
            Protocol::PiRpc => pi::rpc::keep,
            Protocol::Claude => claude::stream::keep,
            Protocol::Codex => codex::stream::keep,
            Protocol::Acp => acp::stream::keep,
            Protocol::Events => events::keep,
        }
    }

    /// What the agent is told on its standard input when it starts.
    pub fn opening(self, assignment: &Assignment) -> Opening {
        let prompt = &assignment.prompt;
        match self {
            Protocol::Pi | Protocol::Codex => {
                Opening { bytes: prompt.clone().into_bytes(), stays_open: false }
            }
            Protocol::PiRpc => Opening { bytes: pi::rpc::opening(prompt), stays_open: true },
            Protocol::Claude => {
                Opening { bytes: claude::stream::user_message(prompt), stays_open: true }
            }
            // The prompt follows when the agent has opened a session.
            Protocol::Acp => Opening { bytes: acp::stream::opening(), stays_open: true },
            Protocol::Events => Opening { bytes: events::opening(prompt), stays_open: true },
        }
    }

    /// Reads one agent's output from its beginning.
    pub fn reader(self, assignment: Assignment) -> Reader {
        match self {
            Protocol::Pi => Reader::Pi,
            Protocol::PiRpc => Reader::PiRpc(pi::rpc::RpcReader::new(assignment.ask)),
            Protocol::Claude => Reader::Claude(Box::default()),
            Protocol::Codex => Reader::Codex(codex::stream::CodexReader::default()),
            Protocol::Acp => Reader::Acp(Box::new(acp::stream::AcpReader::new(assignment))),
            Protocol::Events => Reader::Events(events::EventReader::default()),
        }
    }
}

/// The beginning of an agent's standard input.
#[derive(Debug, PartialEq, Eq)]
pub struct Opening {
    /// The prompt, as the protocol puts it, or what comes before it.
    pub bytes: Vec<u8>,
    /// Whether the input stays open behind it, so that replies can follow.
    pub stays_open: bool,
}

/// Reads what one agent prints, line by line.
#[derive(Debug)]
pub enum Reader {
    /// Every line of pi stands for itself.
    Pi,
    /// pi in RPC mode is told more than its prompt.
    PiRpc(pi::rpc::RpcReader),
    /// Several records of Claude Code are one message.
    Claude(Box<claude::stream::ClaudeReader>),
    /// A result of Codex belongs to an earlier call.
    Codex(codex::stream::CodexReader),
    /// Every line of ours follows from a line of the agent.
    Acp(Box<acp::stream::AcpReader>),
    /// Our own events are numbered.
    Events(events::EventReader),
}

impl Reader {
    /// Reads the next line.
    pub fn read(&mut self, line: Line<'_>) -> Reading {
        match self {
            Reader::Pi => pi::stream::read(line),
            Reader::PiRpc(reader) => reader.read(line),
            Reader::Claude(reader) => reader.read(line),
            Reader::Codex(reader) => reader.read(line),
            Reader::Acp(reader) => reader.read(line),
            Reader::Events(reader) => reader.read(line),
        }
    }

    /// What was read and not told yet when the output has ended.
    pub fn finish(&mut self) -> Reading {
        match self {
            Reader::Claude(reader) => reader.finish(),
            Reader::Acp(reader) => reader.finish(),
            Reader::Pi | Reader::PiRpc(_) | Reader::Codex(_) | Reader::Events(_) => {
                Reading::default()
            }
        }
    }

    /// What to write to the agent so that it reads a message: before its next request if it works, else
    /// at once. Later readings say what became of the message. Nothing for an agent that cannot be
    /// spoken to, or takes it later: then the reply of a reading has it.
    pub fn tell(&mut self, number: u64, message: &Message) -> Vec<u8> {
        let text = &message.text;
        match self {
            Reader::PiRpc(reader) => reader.tell(number, text),
            Reader::Claude(reader) => reader.tell(number, text),
            Reader::Acp(reader) => reader.tell(number, text),
            Reader::Events(_) => events::tell(number, message),
            Reader::Pi | Reader::Codex(_) => Vec::new(),
        }
    }

    /// The answer to a question of the agent: what to write to it, and what is known now of the call that
    /// it asked about. Nothing for a question that was withdrawn.
    pub fn answer(&mut self, number: u64, answer: &Answer) -> Reading {
        match self {
            Reader::PiRpc(reader) => reader.answer(number, answer),
            Reader::Claude(reader) => reader.answer(number, answer),
            Reader::Acp(reader) => reader.answer(number, answer),
            Reader::Events(reader) => reader.answer(number, answer),
            Reader::Pi | Reader::Codex(_) => Reading::default(),
        }
    }

    /// What to write to the agent so that it leaves what it is doing, and waits for a message.
    pub fn interruption(&mut self) -> Vec<u8> {
        match self {
            Reader::PiRpc(_) => pi::rpc::interruption(),
            Reader::Claude(_) => claude::stream::interruption(),
            Reader::Acp(reader) => reader.interruption(),
            Reader::Pi | Reader::Codex(_) | Reader::Events(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_protocol_is_found_by_its_word() {
        for protocol in Protocol::ALL {
            assert_eq!(Protocol::of(Some(protocol.word())), Some(protocol));
        }
        assert_eq!(Protocol::of(None), Some(Protocol::Pi), "a run of an earlier version");
        assert_eq!(Protocol::of(Some("telepathy")), None);
    }
}
