//! A directory in which tools are tested.

use std::fs;
use std::path::{Path, PathBuf};

use model::Redactor;
use serde_json::Value;

use super::{ALL, Call, Shell, Tool, ToolError, ToolOutput};
use crate::cancel::Cancel;
use crate::message::text_of;

/// A directory of its own, and everything that a call needs.
pub(crate) struct TestDirectory {
    directory: tempfile::TempDir,
    pub(crate) cancel: Cancel,
    pub(crate) shell: Shell,
}

impl TestDirectory {
    pub(crate) fn new() -> TestDirectory {
        let directory = tempfile::tempdir().unwrap();
        let shell = Shell {
            program: None,
            prefix: None,
            outputs: directory.path().to_owned(),
            redactor: Redactor::default(),
        };
        TestDirectory { directory, cancel: Cancel::new().unwrap(), shell }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn cwd(&self) -> &Path {
        self.directory.path()
    }

    /// Creates a file and its directories.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn content(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn run(&self, tool: &str, arguments: &Value) -> Result<ToolOutput, ToolError> {
        self.run_reporting(tool, arguments, &mut |_| {})
    }

    pub(crate) fn run_reporting(
        &self,
        tool: &str,
        arguments: &Value,
        report: &mut dyn FnMut(ToolOutput),
    ) -> Result<ToolOutput, ToolError> {
        let tool = ALL.iter().find(|known| known.name == tool).unwrap();
        let call = Call { cwd: self.cwd(), shell: &self.shell, cancel: &self.cancel, report };
        tool.run(arguments.as_object().unwrap(), call)
    }

    /// The text of a call that must succeed.
    #[track_caller]
    pub(crate) fn text(&self, tool: &str, arguments: &Value) -> String {
        text_of(&self.run(tool, arguments).unwrap().content)
    }

    /// The error of a call that must fail.
    #[track_caller]
    pub(crate) fn error(&self, tool: &str, arguments: &Value) -> String {
        self.run(tool, arguments).unwrap_err().0
    }
}

/// A tool that only prompts mention.
pub(crate) const fn for_prompt(
    name: &'static str,
    snippet: &'static str,
    guidelines: &'static [&'static str],
) -> Tool {
    Tool {
        name,
        description: "",
        snippet,
        guidelines,
        is_default: true,
        parameters: || Value::Null,
        run: |_, _| Err(ToolError(String::new())),
    }
}
