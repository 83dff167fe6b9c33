//! The processes of the testbed, their roles, and signals to them.

use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::plan::Role;
use crate::testbed::Testbed;

/// A process that a fault can hit.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) pid: u32,
    pub(crate) role: Role,
    /// The run that it belongs to, unless it is a door.
    pub(crate) run_id: Option<String>,
    words: String,
}

/// Every living process of the testbed, in the order of their ids.
///
/// A process that was just started looks like its parent until its `exec`. It is left out, because the log could
/// not say what a fault has hit.
pub(crate) fn targets(testbed: &Testbed) -> Vec<Target> {
    let processes = testbed.world.processes();
    let is_just_started = |(pid, words): &(u32, String)| {
        let parent = parent_of(*pid);
        processes.iter().any(|(other, other_words)| Some(*other) == parent && other_words == words)
    };
    let mut targets: Vec<Target> = processes
        .iter()
        .filter(|process| !is_just_started(process))
        .cloned()
        .map(|(pid, words)| {
            let role = role_of(&words);
            let run_id = match role {
                Role::Supervisor => supervised(&words),
                Role::Agent | Role::Descendant | Role::Relay => {
                    environment_variable(pid, "PI_SUBAGENTS_RUN")
                }
                _ => None,
            };
            Target { pid, role, run_id, words }
        })
        .collect();
    targets.sort_by_key(|target| target.pid);
    targets
}

fn role_of(words: &str) -> Role {
    let mut words = words.split(' ');
    let program = words.next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
    match (program, words.next().unwrap_or_default()) {
        ("pi-subagents", "supervise") => Role::Supervisor,
        ("pi-subagents", "agent") | ("fake-agent", "-") => Role::Agent,
        ("fake-agent", script) if script.starts_with('@') => Role::Agent,
        ("pi-subagents", "bridge") => Role::Bridge,
        ("pi-subagents", "mcp") => Role::Mcp,
        ("pi-subagents", "view") => Role::Viewer,
        ("pi-subagents", "worker") => Role::Worker,
        ("pi-subagents", "relay") => Role::Relay,
        ("pi-subagents", _) => Role::Shell,
        ("git", _) => Role::Git,
        ("tmux" | "tmux:", _) | ("tail", "-f") => Role::Tmux,
        _ => Role::Descendant,
    }
}

/// The id of a supervisor's run, whose directory follows the flag.
fn supervised(words: &str) -> Option<String> {
    let (_, rest) = words.split_once(" --lifeline ")?;
    rest.split(' ').next()?.rsplit('/').next().map(str::to_owned)
}

fn environment_variable(pid: u32, name: &str) -> Option<String> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let environment = String::from_utf8_lossy(&environment).into_owned();
    let mut variables = environment.split('\0').filter_map(|variable| variable.split_once('='));
    variables.find(|(known, _)| *known == name).map(|(_, value)| value.to_owned())
}

/// The process id of the parent.
pub(crate) fn parent_of(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

impl Target {
    /// Sends a signal to this process, and not to another that has got its id meanwhile. False if it is gone.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return false };
        let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
        let words = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        String::from_utf8_lossy(&words).replace('\0', " ") == self.words
            && pidfd_send_signal(&descriptor, signal).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_known_by_command_lines() {
        for (words, role) in [
            ("/a/pi-subagents run --json [x] supervise", Role::Shell),
            ("/a/pi-subagents bridge ", Role::Bridge),
            ("/a/pi-subagents mcp ", Role::Mcp),
            ("pi-subagents supervise --lifeline /b/c/0123 ", Role::Supervisor),
            ("/a/pi-subagents agent --mode json", Role::Agent),
            ("/a/fake-agent - --mode json", Role::Agent),
            ("/a/fake-agent @/a/asker.json ", Role::Agent),
            ("/a/fake-agent [\"hang\"] mark ", Role::Descendant),
            ("sleep 600 ", Role::Descendant),
            ("/a/pi-subagents view /b/socket ", Role::Viewer),
            ("tmux -S /b/socket new-session ", Role::Tmux),
            ("tail -f /dev/null ", Role::Tmux),
            ("/a/pi-subagents worker --lease 3 ", Role::Worker),
            ("pi-subagents relay --pool default ", Role::Relay),
            ("git worktree add ", Role::Git),
        ] {
            assert_eq!(role_of(words), role, "{words}");
        }
        assert_eq!(
            supervised("pi-subagents supervise --lifeline /b/c/0123 --screen "),
            Some("0123".to_owned())
        );
    }
}
