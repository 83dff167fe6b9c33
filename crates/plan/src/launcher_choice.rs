//! `subagents.json`: how foreground runs are started.

use std::path::PathBuf;

use serde_json::Value;

use crate::Surroundings;
use crate::plain_file::read_json;

/// How foreground runs are started. Background runs are always processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LauncherKind {
    /// As processes without a window.
    #[default]
    Process,
    /// As processes, each with a tmux pane that shows it.
    Tmux,
}

impl LauncherKind {
    const ALL: [LauncherKind; 2] = [LauncherKind::Process, LauncherKind::Tmux];

    /// The word for it in files and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            LauncherKind::Process => "process",
            LauncherKind::Tmux => "tmux",
        }
    }
}

/// How foreground runs are started, and where that was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct LauncherChoice {
    pub kind: LauncherKind,
    /// The file that chooses it, if one does.
    pub file: Option<PathBuf>,
}

/// The setting cannot be understood. Here this is an error and not a warning: a user who wants panes
/// must not wonder where they are.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum LauncherChoiceError {
    #[error("{}: {problem}", .path.display())]
    Unreadable { path: PathBuf, problem: String },
    #[error("{}: \"runner\" must be \"process\" or \"tmux\", not {value}", .path.display())]
    Unknown { path: PathBuf, value: Value },
}

/// Reads `subagents.json` of the agent directory and of the project, which wins. What is wrong in
/// either is an error.
pub fn load_launcher_choice(
    surroundings: &Surroundings,
) -> Result<LauncherChoice, LauncherChoiceError> {
    let user = read(surroundings.user_state().runner())?;
    let project = read(surroundings.project_state().runner())?;
    Ok(project.or(user).unwrap_or_default())
}

fn read(path: PathBuf) -> Result<Option<LauncherChoice>, LauncherChoiceError> {
    let mut file = match read_json(&path) {
        Ok(None) => return Ok(None),
        Ok(Some(Value::Object(file))) => file,
        Ok(Some(_)) => {
            let problem = "it must be a JSON object".to_owned();
            return Err(LauncherChoiceError::Unreadable { path, problem });
        }
        Err(problem) => return Err(LauncherChoiceError::Unreadable { path, problem }),
    };
    let Some(value) = file.remove("runner") else {
        return Ok(None);
    };
    let kind = LauncherKind::ALL.into_iter().find(|kind| value.as_str() == Some(kind.word()));
    let Some(kind) = kind else {
        return Err(LauncherChoiceError::Unknown { path, value });
    };
    Ok(Some(LauncherChoice { kind, file: Some(path) }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The choice with the name of the directory of the file, or the error without the path of
    /// the test.
    fn load(user: &str, project: &str) -> Result<(LauncherKind, Option<String>), String> {
        let top = tempfile::tempdir().unwrap();
        let (cwd, agent_dir) = (top.path().join("project"), top.path().join("agent"));
        fs::create_dir_all(cwd.join(".pi")).unwrap();
        fs::create_dir_all(&agent_dir).unwrap();
        for (directory, text) in [(&agent_dir, user), (&cwd.join(".pi"), project)] {
            if !text.is_empty() {
                fs::write(directory.join("subagents.json"), text).unwrap();
            }
        }
        let surroundings = Surroundings::new(cwd, agent_dir);
        let relative = |text: &str| text.replace(&format!("{}/", top.path().display()), "");
        load_launcher_choice(&surroundings)
            .map(|choice| {
                (choice.kind, choice.file.map(|file| relative(&file.display().to_string())))
            })
            .map_err(|error| relative(&error.to_string()))
    }

    #[test]
    fn the_project_wins_over_the_user() {
        let (process, tmux) = (r#"{"runner": "process"}"#, r#"{"runner": "tmux", "other": 1}"#);
        let users = Some("agent/subagents.json".to_owned());
        let projects = Some("project/.pi/subagents.json".to_owned());
        for (user, project, expected) in [
            ("", "", (LauncherKind::Process, None)),
            ("{}", "{}", (LauncherKind::Process, None)),
            (tmux, "", (LauncherKind::Tmux, users.clone())),
            (tmux, "{}", (LauncherKind::Tmux, users)),
            ("", tmux, (LauncherKind::Tmux, projects.clone())),
            (tmux, process, (LauncherKind::Process, projects.clone())),
            (process, tmux, (LauncherKind::Tmux, projects)),
        ] {
            assert_eq!(load(user, project), Ok(expected), "{user} {project}");
        }
    }

    #[test]
    fn anything_else_is_an_error_that_names_file_and_value() {
        let fine = r#"{"runner": "process"}"#;
        for (text, expected) in [
            (r#"{"runner": "screen"}"#, r#""runner" must be "process" or "tmux", not "screen""#),
            (r#"{"runner": "Tmux"}"#, r#""runner" must be "process" or "tmux", not "Tmux""#),
            (r#"{"runner": null}"#, r#""runner" must be "process" or "tmux", not null"#),
            (r#"{"runner": ["tmux"]}"#, r#""runner" must be "process" or "tmux", not ["tmux"]"#),
            (r#""tmux""#, "it must be a JSON object"),
            ("{", "it is not JSON: EOF while parsing an object at line 1 column 1"),
            (" ", "it is not JSON: EOF while parsing a value at line 1 column 1"),
        ] {
            let users = format!("agent/subagents.json: {expected}");
            assert_eq!(load(text, fine), Err(users), "also where the project says otherwise");
            let projects = format!("project/.pi/subagents.json: {expected}");
            assert_eq!(load(fine, text), Err(projects));
        }
    }
}
