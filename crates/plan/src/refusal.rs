//! Why one task must not start.

use std::path::PathBuf;

use protocol::StartError;

use crate::{DefinitionKind, SkillError, UnknownDefinition, UnknownModel};

/// What is wrong with one task. The other tasks of its call are not affected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Refusal {
    #[error("cwd must be an absolute path")]
    RelativeDirectory,
    #[error("cwd must not contain '..' path segments")]
    AscendingDirectory,
    #[error(transparent)]
    UnknownDefinition(#[from] UnknownDefinition),
    #[error(
        "No model resolved: the call names no model, and neither does {preset} ({}).",
        path.display()
    )]
    NoModel { preset: String, path: PathBuf },
    #[error(transparent)]
    UnknownModel(#[from] UnknownModel),
    #[error(
        "{definition} has a key but names no provider, so it cannot be used with another model. \
         Add the provider to the {}.",
        kind.word()
    )]
    KeyWithoutProvider { definition: String, kind: DefinitionKind },
    #[error(transparent)]
    Skill(#[from] SkillError),
    #[error(
        "{definition} belongs to this project and sets {fields}, which can run any \
         program, but the project is not trusted. Look at {}, then trust the project with \
         /trust in pi, or run with --approve.",
        path.display()
    )]
    NotTrusted { definition: String, fields: String, path: PathBuf },
    #[error(transparent)]
    Start(#[from] StartError),
}

impl Refusal {
    /// What to do about it on the command line, where the message does not say so.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Refusal::RelativeDirectory | Refusal::AscendingDirectory => {
                Some("give the whole path, such as --cwd \"$PWD/src\"")
            }
            Refusal::UnknownDefinition(unknown) => Some(match unknown.kind {
                DefinitionKind::Profile => {
                    "`pi-subagents profile list` lists the profiles and what is wrong with them"
                }
                DefinitionKind::Preset => {
                    "`pi-subagents preset list` lists the presets and what is wrong with them; \
                     each is a file in `subagents` of the agent directory, such as \
                     ~/.pi/agent/subagents/scout.md"
                }
            }),
            Refusal::NoModel { .. } => {
                Some("name one with --model, or in the preset's file with `model: provider/id`")
            }
            Refusal::UnknownModel(_)
            | Refusal::KeyWithoutProvider { .. }
            | Refusal::Skill(_)
            | Refusal::NotTrusted { .. }
            | Refusal::Start(_) => None,
        }
    }
}
