//! Which agent it is. The protocol is the same for all, and how each keeps what it cannot say is not.

use super::prompts::PromptTiming;

/// An agent that speaks the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Make {
    Gemini,
    Opencode,
    Copilot,
    /// Claude Code, behind the adapter that speaks the protocol for it.
    Claude,
    /// Any other.
    Other,
}

impl Make {
    /// The agent of that name.
    pub(super) fn of(name: &str) -> Make {
        match name {
            "gemini" => Make::Gemini,
            "opencode" => Make::Opencode,
            "copilot" => Make::Copilot,
            _ => Make::Other,
        }
    }

    /// The agent that calls itself so, whatever the user calls it.
    pub(super) fn of_itself(name: &str) -> Make {
        match name {
            "gemini-cli" => Make::Gemini,
            "OpenCode" => Make::Opencode,
            "Copilot" => Make::Copilot,
            "@agentclientprotocol/claude-agent-acp" => Make::Claude,
            _ => Make::Other,
        }
    }

    /// What it is called in messages.
    pub(super) fn title(self) -> &'static str {
        match self {
            Make::Gemini => "Gemini CLI",
            Make::Opencode => "opencode",
            Make::Copilot => "GitHub Copilot",
            Make::Claude => "Claude Code",
            Make::Other => "the agent",
        }
    }

    /// Whether the model was named when it was started, so that nothing is left to choose.
    pub(super) fn is_started_with_model(self) -> bool {
        matches!(self, Make::Gemini | Make::Copilot)
    }

    /// Whether the same holds for how much the model thinks.
    pub(super) fn is_started_with_thinking(self) -> bool {
        self.is_started_with_model()
    }

    /// Whether the numbers at the end of a turn are those of its last message only.
    pub(super) fn tells_last_message_only(self) -> bool {
        self == Make::Opencode
    }

    /// Whether those numbers are the sum of the session, and not of the turn.
    pub(super) fn tells_sum_of_session(self) -> bool {
        self == Make::Copilot
    }

    /// What it does with a prompt that comes while it answers another one. The protocol does not say it, so that
    /// each was tried.
    pub(super) fn prompt_timing(self) -> PromptTiming {
        match self {
            Make::Opencode | Make::Claude => PromptTiming::DuringTurn,
            Make::Copilot => PromptTiming::BetweenCalls,
            Make::Gemini | Make::Other => PromptTiming::AfterTurn,
        }
    }

    /// Whether a turn that is cancelled while the model answers is taken out of the conversation, with its prompt.
    pub(super) fn forgets_cancelled_turn(self) -> bool {
        self == Make::Gemini
    }
}
