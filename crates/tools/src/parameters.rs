//! The arguments of every tool, each declared once: what it is called, what it is, and what a model
//! is told about it.

use model::{Access, Isolation};
use plan::{FileSpec, Lines};
use serde_json::{Value, json};

use crate::declaration::{ARGUMENTS, Checked, Parameters, read, schema, wrong};
use crate::{Choices, TaskArguments};

/// What `delegate_to_subagents` is asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DelegateArguments {
    /// The tasks, in their order.
    pub tasks: Vec<TaskArguments>,
    /// The profile of every task that names none.
    pub profile: Option<String>,
}

/// What `subagent` is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct SubagentArguments {
    /// The tasks, in their order, each called by its preset.
    pub tasks: Vec<TaskArguments>,
    /// Whether there is one task that is not in a list, so that its answer is the whole answer.
    pub is_single: bool,
}

/// What `background_agent` is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct BackgroundArguments {
    /// Called by its preset; the command line can give it another name.
    pub task: TaskArguments,
}

/// What `background_agent_status` is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusArguments {
    /// Only this run, also if it belongs to another owner.
    pub run_id: Option<String>,
    /// Also the runs that have ended.
    pub include_completed: bool,
}

/// What `background_agent_control` is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ControlArguments {
    pub run_id: String,
    pub action: ControlAction,
    pub message: Option<String>,
}

/// What can be done with a background run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ControlAction {
    Stop,
    Message,
}

/// What `get_subagent_output` and `get_subagent_session` are asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct SessionArguments {
    pub session_id: String,
}

/// What `list_subagent_profiles` is asked: nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoArguments;

impl DelegateArguments {
    /// These tasks, and nothing for all of them.
    pub fn of(tasks: Vec<TaskArguments>) -> DelegateArguments {
        DelegateArguments { tasks, profile: None }
    }

    /// Reads the arguments. `most_tasks` is the limit of the tool, [`crate::MOST_TASKS`]; the
    /// command line has none.
    pub fn parse(value: &Value, most_tasks: Option<usize>) -> Checked<DelegateArguments> {
        read(value, ARGUMENTS, |call| DelegateArguments::declare(call, most_tasks))
    }

    pub(crate) fn declare(
        call: &mut Parameters<'_>,
        most_tasks: Option<usize>,
    ) -> Checked<DelegateArguments> {
        Ok(DelegateArguments {
            tasks: call.tasks(most_tasks, declare_task)?,
            profile: call
                .optional_text("profile", "Default profile, one of list_subagent_profiles")?,
        })
    }
}

/// A task of `delegate_to_subagents`.
fn declare_task(task: &mut Parameters<'_>) -> Checked<TaskArguments> {
    Ok(TaskArguments {
        name: task.text("name", "A short title")?,
        prompt: task.text("prompt", PROMPT)?,
        cwd: task.optional_text("cwd", CWD)?,
        profile: task.optional_text("profile", "Instead of the default profile")?,
        timeout: task.seconds("timeout", "Seconds, 600 by default")?,
        resume: task.optional_text("resume", "Id of a session to continue")?,
        model: task.model("model")?,
        agent: task
            .optional_text("agent", "pi, builtin, claude, codex or a name of the settings")?,
        files: task.list(
            "files",
            "Put before the prompt: whole, or lines start to end, or the first (head) or last \
             (tail) lines",
            &json!({"anyOf": [{"type": "string"}, schema(&Choices::default(), declare_file)]}),
            read_file,
        )?,
        access: task.optional_word("access", &Access::WORDS)?,
        isolation: task.optional_word("isolation", &Isolation::WORDS)?,
        schema: task.json_schema("schema", "JSON Schema of its answer")?,
        ..TaskArguments::default()
    })
}

const PROMPT: &str = "All that the sub-agent has to know";
const CWD: &str = "Absolute path";

fn read_file(value: &Value, path: &str) -> Checked<FileSpec> {
    match value {
        Value::String(path) => Ok(FileSpec { path: path.clone(), lines: Lines::All }),
        Value::Object(_) => read(value, path, declare_file),
        _ => Err(wrong(path, "must be a path or an object with a path")),
    }
}

fn declare_file(file: &mut Parameters<'_>) -> Checked<FileSpec> {
    let path = file.text("path", "")?;
    let (start, end) = (file.count("start", 0)?, file.count("end", 0)?);
    let (head, tail) = (file.count("head", 1)?, file.count("tail", 1)?);
    let lines = match (start.is_some() || end.is_some(), head, tail) {
        (false, None, None) => Lines::All,
        (true, None, None) => Lines::Range { start, end },
        (false, Some(head), None) => Lines::Head(head),
        (false, None, Some(tail)) => Lines::Tail(tail),
        _ => return Err(wrong(file.path, "must have only one of start/end, head and tail")),
    };
    Ok(FileSpec { path, lines })
}

impl SubagentArguments {
    /// Reads the arguments. `most_tasks` is the limit of the tool, [`crate::MOST_TASKS`].
    pub fn parse(value: &Value, most_tasks: Option<usize>) -> Checked<SubagentArguments> {
        if value.get("chain").is_some() {
            let problem = "is not supported; call subagent once for each step and put what the \
                           next step needs into its task, or give tasks that run side by side";
            return Err(wrong("chain", problem));
        }
        read(value, ARGUMENTS, |call| SubagentArguments::declare(call, most_tasks))
    }

    pub(crate) fn declare(
        call: &mut Parameters<'_>,
        most_tasks: Option<usize>,
    ) -> Checked<SubagentArguments> {
        let single = declare_preset_task(call);
        let tasks = call.tasks(most_tasks, |task| declare_preset_task(task.briefly()));
        call.require_nothing();
        match (call.given_besides("tasks"), call.given("tasks")) {
            (None, None) => Err(wrong(ARGUMENTS, "must have preset and task, or tasks")),
            (Some(_), None) => Ok(SubagentArguments { tasks: vec![single?], is_single: true }),
            (Some(name), Some(_)) => {
                Err(wrong(name, "cannot stand beside tasks; every task has its own"))
            }
            (None, Some(_)) => {
                let mut tasks = tasks?;
                for (number, task) in (1..).zip(&mut tasks) {
                    task.name = format!("#{number} {}", task.name);
                }
                Ok(SubagentArguments { tasks, is_single: false })
            }
        }
    }
}

/// A task that has a preset, and is called by it.
pub(crate) fn declare_preset_task(task: &mut Parameters<'_>) -> Checked<TaskArguments> {
    let preset = task.preset("preset")?;
    Ok(TaskArguments {
        name: preset.clone(),
        preset: Some(preset),
        prompt: task.text("task", PROMPT)?,
        model: task.model("model")?,
        cwd: task.optional_text("cwd", CWD)?,
        ..TaskArguments::default()
    })
}

impl BackgroundArguments {
    #[expect(missing_docs, reason = "the name says it")]
    pub fn parse(value: &Value) -> Checked<BackgroundArguments> {
        Ok(BackgroundArguments { task: read(value, ARGUMENTS, declare_preset_task)? })
    }
}

impl StatusArguments {
    #[expect(missing_docs, reason = "the name says it")]
    pub fn parse(value: &Value) -> Checked<StatusArguments> {
        read(value, ARGUMENTS, StatusArguments::declare)
    }

    pub(crate) fn declare(call: &mut Parameters<'_>) -> Checked<StatusArguments> {
        Ok(StatusArguments {
            run_id: call.optional_text("runId", "Only this run, with its answer")?,
            include_completed: call.flag("includeCompleted", "Also runs that have ended")?,
        })
    }
}

impl ControlArguments {
    #[expect(missing_docs, reason = "the name says it")]
    pub fn parse(value: &Value) -> Checked<ControlArguments> {
        read(value, ARGUMENTS, ControlArguments::declare)
    }

    pub(crate) fn declare(call: &mut Parameters<'_>) -> Checked<ControlArguments> {
        Ok(ControlArguments {
            run_id: call.text("runId", "")?,
            action: call.word(
                "action",
                &[("stop", ControlAction::Stop), ("message", ControlAction::Message)],
            )?,
            message: call.optional_text("message", "Read before its next step")?,
        })
    }
}

impl SessionArguments {
    #[expect(missing_docs, reason = "the name says it")]
    pub fn parse(value: &Value) -> Checked<SessionArguments> {
        read(value, ARGUMENTS, SessionArguments::declare)
    }

    pub(crate) fn declare(call: &mut Parameters<'_>) -> Checked<SessionArguments> {
        Ok(SessionArguments { session_id: call.text("sessionId", "")? })
    }
}

impl NoArguments {
    /// Makes sure that there are none. A model that hands some over expects something of them.
    pub fn parse(value: &Value) -> Checked<NoArguments> {
        read(value, ARGUMENTS, NoArguments::declare)
    }

    pub(crate) fn declare(_: &mut Parameters<'_>) -> Checked<NoArguments> {
        Ok(NoArguments)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_is_read() {
        let value = json!({"profile": "default", "tasks": [
            {"name": "a", "prompt": "p"},
            {"name": "b", "prompt": "q", "cwd": "/x", "profile": "r", "timeout": 30, "resume": "0123456789abcdef", "model": "m/n", "agent": "builtin", "access": "read",
             "files": ["a.rs", {"path": "b", "start": 2, "end": 3}, {"path": "c", "head": 1}, {"path": "d", "tail": 9}, {"path": "e"}]},
        ]});
        let arguments = DelegateArguments::parse(&value, Some(16)).unwrap();
        assert_eq!(arguments.profile.as_deref(), Some("default"));
        let task = |name: &str, prompt: &str| TaskArguments {
            name: name.into(),
            prompt: prompt.into(),
            ..TaskArguments::default()
        };
        let file = |path: &str, lines| FileSpec { path: path.into(), lines };
        assert_eq!(arguments.tasks[0], task("a", "p"));
        assert_eq!(
            arguments.tasks[1],
            TaskArguments {
                cwd: Some("/x".into()),
                profile: Some("r".into()),
                timeout: Some(30.0),
                resume: Some("0123456789abcdef".into()),
                access: Some(Access::Read),
                model: Some("m/n".into()),
                agent: Some("builtin".to_owned()),
                files: vec![
                    file("a.rs", Lines::All),
                    file("b", Lines::Range { start: Some(2), end: Some(3) }),
                    file("c", Lines::Head(1)),
                    file("d", Lines::Tail(9)),
                    file("e", Lines::All),
                ],
                ..task("b", "q")
            }
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let task = json!({"name": "a", "prompt": "p"});
        for (value, expected) in [
            (json!([]), "arguments: must be an object"),
            (json!({}), "tasks: is missing"),
            (json!({"tasks": {}}), "tasks: must be a list of tasks"),
            (json!({"tasks": []}), "tasks: must hold at least one task"),
            (json!({"tasks": vec![task; 17]}), "tasks: must hold at most 16 tasks, but holds 17"),
            (json!({"tasks": ["x"]}), "tasks[0]: must be an object"),
            (json!({"tasks": [{"prompt": "p"}]}), "tasks[0].name: is missing"),
            (json!({"tasks": [{"name": "a", "prompt": 5}]}), "tasks[0].prompt: must be a text"),
            (
                json!({"tasks": [{"name": "a", "prompt": " "}]}),
                "tasks[0].prompt: must not be empty",
            ),
            (
                json!({"tasks": [{"name": "a", "prompt": "p", "timeout": 0}]}),
                "tasks[0].timeout: must be a number of seconds, at least 1",
            ),
            (
                json!({"tasks": [{"name": "a", "prompt": "p", "timout": 5}]}),
                "tasks[0].timout: is unknown; there are name, prompt, cwd, profile, timeout, resume, model, agent, files, access, isolation, schema. Did you mean timeout?",
            ),
            (
                json!({"tasks": [{"name": "a", "prompt": "p", "access": "raed"}]}),
                "tasks[0].access: must be read or workspace or full",
            ),
            (
                json!({"tasks": [{"name": "a", "prompt": "p", "access": ["read"]}]}),
                "tasks[0].access: must be read or workspace or full",
            ),
            (
                json!({"tasks": [{"name": "a", "prompt": "p", "schema": "s.json"}]}),
                "tasks[0].schema: it must be a JSON Schema, which is an object",
            ),
            (
                json!({"tasks": [{"name": "a", "prompt": "p", "schema": {"$ref": "#/x"}}]}),
                "tasks[0].schema: Pointer '/x' does not exist",
            ),
            (json!({"": 5}), "\"\": is unknown; there are tasks, profile"),
            (
                json!({"tasks": [{"name": "a", "prompt": "p", "agent": ["evil"]}]}),
                "tasks[0].agent: must be a text",
            ),
            (
                json!({"tasks": [{"name": "a", "prompt": "p", "files": "x"}]}),
                "tasks[0].files: must be a list of files",
            ),
            (
                json!({"tasks": [{"name": "a", "prompt": "p", "files": [5]}]}),
                "tasks[0].files[0]: must be a path or an object with a path",
            ),
            (
                json!({"tasks": [{"name": "a", "prompt": "p", "files": [{"head": 1}]}]}),
                "tasks[0].files[0].path: is missing",
            ),
            (
                json!({"tasks": [{"name": "a", "prompt": "p", "files": ["x", {"path": "y", "head": 0}]}]}),
                "tasks[0].files[1].head: must be a whole number, at least 1",
            ),
            (
                json!({"tasks": [{"name": "a", "prompt": "p", "files": [{"path": "y", "head": 1, "tail": 1}]}]}),
                "tasks[0].files[0]: must have only one of start/end, head and tail",
            ),
            (
                json!({"tasks": [{"name": "a", "prompt": "p"}], "profile": []}),
                "profile: must be a text",
            ),
        ] {
            let error = DelegateArguments::parse(&value, Some(16)).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
        let many = json!({"tasks": vec![json!({"name": "a", "prompt": "p"}); 100]});
        assert_eq!(DelegateArguments::parse(&many, None).unwrap().tasks.len(), 100);
    }

    #[test]
    fn a_session_is_named_by_its_id() {
        let arguments = SessionArguments::parse(&json!({"sessionId": "0123456789abcdef"}));
        assert_eq!(arguments.unwrap().session_id, "0123456789abcdef");
        for (value, expected) in [
            (json!(null), "arguments: must be an object"),
            (json!({}), "sessionId: is missing"),
            (json!({"sessionId": " "}), "sessionId: must not be empty"),
            (json!({"sessionId": 5}), "sessionId: must be a text"),
            (
                json!({"sessionId": "a", "session": "a"}),
                "session: is unknown; there are sessionId. Did you mean sessionId?",
            ),
        ] {
            assert_eq!(SessionArguments::parse(&value).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn where_nothing_is_asked_every_field_is_unknown() {
        assert_eq!(NoArguments::parse(&json!({})), Ok(NoArguments));
        let error = |value| NoArguments::parse(&value).unwrap_err().to_string();
        assert_eq!(error(json!([])), "arguments: must be an object");
        assert_eq!(error(json!({"scope": "global"})), "scope: is unknown; there are no arguments");
    }
}
