//! `init`: presets to begin with.

mod starters;

use std::path::PathBuf;

use plan::{
    DefinitionDirectories, DefinitionFileError, DefinitionKind, Refusal, Surroundings,
    create_definition,
};
use serde_json::json;
use tools::Workspace;

pub(crate) use self::starters::STARTERS;
use self::starters::Starter;
use super::models::KnownModels;
use crate::arguments::Init;
use crate::dialogs::TerminalDialogs;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn init(arguments: &Init, printer: &Printer) -> Result<Exit, CommandError> {
    let workspace = Workspace::load(Surroundings::of_this_process()?, None);
    let directories = DefinitionDirectories::of_presets(&workspace.surroundings);
    let starters = choose(arguments, printer)?;
    let model = match &arguments.model {
        Some(model) => Some(model.clone()),
        None => KnownModels::load(&workspace)?.current(),
    };
    let (mut written, mut kept) = (Vec::new(), Vec::new());
    for starter in &starters {
        let preset = starter.definition(&directories, model.as_deref());
        match create_definition(&directories, &preset) {
            Ok(path) => written.push((*starter, path)),
            Err(
                DefinitionFileError::AlreadyExists { path, .. }
                | DefinitionFileError::Taken { path, .. },
            ) => kept.push(path),
            Err(error) => return Err(CommandError::failure(error)),
        }
    }
    if arguments.json {
        let paths = |paths: &mut dyn Iterator<Item = &PathBuf>| -> Vec<String> {
            paths.map(|path| path.display().to_string()).collect()
        };
        printer.json(&json!({
            "written": paths(&mut written.iter().map(|(_, path)| path)),
            "kept": paths(&mut kept.iter()),
            "model": model,
        }))?;
        return Ok(Exit::Completed);
    }
    for path in &kept {
        printer.note(&format!("{} is there already, and stays as it is", path.display()));
    }
    for (_, path) in &written {
        printer.answer(&path.display().to_string())?;
    }
    if let Some((first, _)) = written.first() {
        say_what_to_try(first, model.as_deref(), printer);
    }
    Ok(Exit::Completed)
}

/// What to do about a task that was refused, where its preset is one that `init` writes.
pub(crate) fn hint_for(refusal: &Refusal) -> Option<String> {
    let Refusal::UnknownDefinition(unknown) = refusal else { return None };
    let is_written = unknown.kind == DefinitionKind::Preset && names().contains(&&*unknown.name);
    is_written.then(|| format!("`pi-subagents init {}` writes it", unknown.name))
}

/// The presets that the user names, or chooses on a terminal.
fn choose(arguments: &Init, printer: &Printer) -> Result<Vec<&'static Starter>, CommandError> {
    if arguments.all {
        return Ok(STARTERS.iter().collect());
    }
    if arguments.names.is_empty() {
        let Some(mut dialogs) = TerminalDialogs::new(printer) else {
            return Err(CommandError::usage("there is no terminal to ask in")
                .hint(format!("name the presets to write, or use --all: {}", names().join(", "))));
        };
        let options =
            STARTERS.iter().map(|starter| format!("{}: {}", starter.name, starter.description));
        let chosen = dialogs.select_several("Which presets do you want?", options.collect());
        return match (chosen, dialogs.failure) {
            (Some(chosen), _) if !chosen.is_empty() => {
                Ok(chosen.into_iter().filter_map(|index| STARTERS.get(index)).collect())
            }
            (_, Some(failure)) => Err(failure),
            _ => Err(CommandError::usage("nothing was chosen, and nothing was written")),
        };
    }
    let find = |name: &String| {
        STARTERS.iter().find(|starter| starter.name == name).ok_or_else(|| {
            let meant = plan::did_you_mean(&plan::similar_names(name, names()));
            CommandError::usage(format!("there is no preset {name:?} to begin with.{meant}"))
                .hint(format!("there are {}", names().join(", ")))
        })
    };
    let mut chosen: Vec<&Starter> = arguments.names.iter().map(find).collect::<Result<_, _>>()?;
    chosen.dedup_by_key(|starter| starter.name);
    Ok(chosen)
}

fn names() -> Vec<&'static str> {
    STARTERS.iter().map(|starter| starter.name).collect()
}

fn say_what_to_try(starter: &Starter, model: Option<&str>, printer: &Printer) {
    let Starter { name, example, .. } = starter;
    let option = match model {
        Some(model) => {
            printer
                .note(&format!("They use {model}; `pi-subagents preset edit {name}` changes it."));
            String::new()
        }
        None => {
            printer.warning(&format!(
                "there is no default model that they could use; name one with `pi-subagents preset \
                 edit {name} --model MODEL`, or for each task"
            ));
            " --model MODEL".to_owned()
        }
    };
    printer.note(&format!("Try: pi-subagents run --preset {name}{option} \"{example}\""));
}
