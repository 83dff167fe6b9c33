//! The calls of tools that have no result yet.

use std::collections::VecDeque;

/// Ties a result to its call, where the agent names only the id of the call.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls {
    calls: VecDeque<(String, String)>,
}

impl OpenCalls {
    /// More calls than this are forgotten, oldest first, and ids that are longer than this are not
    /// remembered: what a child prints must not fill the supervisor's memory.
    const MOST: usize = 256;
    const ID_BYTES: usize = 256;

    /// Remembers the tool of a call.
    pub(crate) fn open(&mut self, id: &str, tool: &str) {
        if id.len() > OpenCalls::ID_BYTES || tool.len() > OpenCalls::ID_BYTES {
            return;
        }
        if self.calls.len() == OpenCalls::MOST {
            self.calls.pop_front();
        }
        self.calls.push_back((id.to_owned(), tool.to_owned()));
    }

    /// The tool of a call that has a result now, if the call is known.
    pub(crate) fn close(&mut self, id: &str) -> Option<String> {
        let index = self.calls.iter().position(|(known, _)| known == id)?;
        self.calls.remove(index).map(|(_, tool)| tool)
    }

    /// Whether a call is known.
    pub(crate) fn is_open(&self, id: &str) -> bool {
        self.calls.iter().any(|(known, _)| known == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_finds_its_call_once_and_the_oldest_calls_are_forgotten() {
        let mut calls = OpenCalls::default();
        calls.open("1", "read");
        calls.open("2", "bash");
        assert!(calls.is_open("1"));
        assert_eq!(calls.close("1").as_deref(), Some("read"));
        assert_eq!(calls.close("1"), None);
        for number in 0..OpenCalls::MOST {
            calls.open(&format!("n{number}"), "ls");
        }
        assert_eq!(calls.close("2"), None);
        let long = "x".repeat(OpenCalls::ID_BYTES + 1);
        calls.open(&long, "ls");
        assert!(!calls.is_open(&long));
    }
}
