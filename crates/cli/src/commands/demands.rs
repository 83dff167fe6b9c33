//! What the user asks of an answer and of the work behind it.

use std::path::Path;

use serde_json::Value;
use tools::TaskArguments;

use crate::arguments::DemandArguments;
use crate::error::CommandError;

impl DemandArguments {
    /// Asks the same of every task that does not say something else.
    pub(super) fn add_to<'a>(
        &self,
        tasks: impl IntoIterator<Item = &'a mut TaskArguments>,
    ) -> Result<(), CommandError> {
        if self.check.as_ref().is_some_and(|check| check.trim().is_empty()) {
            return Err(CommandError::usage("the check is empty").hint(
                "give a command that succeeds if the work is good, such as --check 'make test'",
            ));
        }
        let schema =
            self.schema.as_deref().map(|path| read_schema(path, "--schema")).transpose()?;
        for task in tasks {
            task.check.clone_from(&self.check);
            task.check_timeout = self.check_timeout;
            task.schema = task.schema.take().or_else(|| schema.clone());
        }
        Ok(())
    }
}

/// A schema in a file, which can be used. `origin` is the option or field that names the file.
pub(super) fn read_schema(path: &Path, origin: &str) -> Result<Value, CommandError> {
    let wrong =
        |problem: String| CommandError::usage(format!("{origin} {}: {problem}", path.display()));
    let text = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let schema =
        serde_json::from_slice(&text).map_err(|error| wrong(format!("it is not JSON: {error}")))?;
    answer::check_schema(&schema).map_err(|error| wrong(error.to_string()))?;
    Ok(schema)
}
