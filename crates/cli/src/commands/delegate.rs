//! `delegate`: many tasks, from one JSON document.

use serde_json::Value;
use tools::DelegateArguments;

use super::run::read_standard_input;
use super::tasks::{Answers, Door};
use crate::arguments::Delegate;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn delegate(arguments: &Delegate, printer: &mut Printer) -> Result<Exit, CommandError> {
    let text = if arguments.file == "-" {
        read_standard_input("the tasks")?
    } else {
        std::fs::read_to_string(&arguments.file)
            .map_err(|error| CommandError::usage(format!("{}: {error}", arguments.file)))?
    };
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| CommandError::usage(format!("the tasks are not JSON: {error}")))?;
    let call = DelegateArguments::parse(&value, None)
        .map_err(|error| CommandError::usage(error.to_string()))?;
    let mut door = Door::open(&arguments.agent, printer)?;
    let concurrency = arguments.concurrency.map(usize::from);
    let answers = if arguments.output.json { Answers::Json } else { Answers::Summaries };
    let title = match call.tasks.as_slice() {
        [task] => task.name.clone(),
        tasks => format!("{} tasks", tasks.len()),
    };
    let exit = door.run(call, concurrency, answers, printer)?;
    arguments.notify.tell(&title, exit);
    Ok(exit)
}
