//! The presets that `init` can write. A user changes them afterwards: nothing reads them from here.

use model::Access;
use plan::{Definition, DefinitionDirectories, Scope};

/// A preset to begin with.
pub(crate) struct Starter {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    tools: &'static [&'static str],
    access: Option<Access>,
    instructions: &'static str,
    /// A task to try it with.
    pub(super) example: &'static str,
}

const READING: &[&str] = &["read", "grep", "find", "ls"];

pub(crate) const STARTERS: [Starter; 4] = [
    Starter {
        name: "scout",
        description: "Explores a code base and reports where things are, without changing anything",
        tools: READING,
        access: None,
        instructions: "You are a scout. Find what you are asked for with as few calls as you can: \
                       search first, then read only the lines that matter.\n\n\
                       Answer with what you found: each place as path and line, one sentence on what \
                       it does, and what you did not find. Change nothing, and propose no changes.",
        example: "Where are errors handled?",
    },
    Starter {
        name: "reviewer",
        description: "Reviews code or a change and reports findings in order of severity",
        tools: &["read", "grep", "find", "ls", "bash"],
        access: Some(Access::Read),
        instructions: "You are an experienced reviewer. Read the change and the code around it; run \
                       `git diff` or `git log` where it helps. Look for wrong behaviour, missing cases, \
                       security problems and missing tests, in this order.\n\n\
                       Report each finding with path and line, what goes wrong, and when. Leave out \
                       matters of taste. If there is nothing to report, say so. Change nothing.",
        example: "Review the last commit",
    },
    Starter {
        name: "worker",
        description: "Carries out a well described change and checks that it works",
        tools: &[],
        access: None,
        instructions: "You carry out one task from its beginning to its end. Keep to the style of the \
                       code around your change, change nothing that the task does not need, and run \
                       the tests that concern it.\n\n\
                       At the end report which files you changed, what you ran and how it ended, and \
                       what is left to do.",
        example: "Add a test for the parser of dates",
    },
    Starter {
        name: "planner",
        description: "Turns a request into a plan of small steps, without changing anything",
        tools: READING,
        access: None,
        instructions: "You make plans. Read the code that a request concerns, and write a plan that \
                       another person can follow without asking: small steps in their order, each with \
                       the files it changes and how to check it. Name the risks, and the questions \
                       whose answers would change the plan. Change nothing.",
        example: "Plan how to add a --verbose option",
    },
];

impl Starter {
    /// The preset, which belongs to the user.
    pub(super) fn definition(
        &self,
        directories: &DefinitionDirectories,
        model: Option<&str>,
    ) -> Definition {
        let mut preset = Definition::new(self.name, Scope::Global, directories);
        preset.description = Some(self.description.to_owned());
        preset.access = self.access;
        preset.configuration.model = model.map(str::to_owned);
        preset.configuration.tools = self.tools.iter().map(|tool| (*tool).to_owned()).collect();
        preset.configuration.append_system_prompt = Some(self.instructions.to_owned());
        preset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_starter_reads_back_as_it_is_written() {
        let top = tempfile::tempdir().unwrap();
        let directories = DefinitionDirectories {
            kind: plan::DefinitionKind::Preset,
            global: top.path().join("subagents"),
            project: top.path().join("project"),
            claude: Vec::new(),
        };
        for starter in &STARTERS {
            let preset = starter.definition(&directories, Some("anthropic/claude-opus-4-8"));
            plan::check_definition(&preset).unwrap();
            plan::create_definition(&directories, &preset).unwrap();
            let read = plan::load_definitions(&directories);
            assert_eq!(read.warnings, []);
            assert_eq!(read.get(starter.name).unwrap(), &preset);
        }
    }
}
