//! Builds the system prompt, in the sections of pi's.

mod context_files;

use std::path::{Path, PathBuf};

use plan::{Skills, Surroundings, Trust, discover_skills, with_skill_paths};
use serde_json::{Map, Value};

use crate::invocation::Invocation;
use crate::text_file::read_text;
use crate::tools::Tool;

#[derive(Clone, Copy, Debug)]
pub(crate) struct PromptInputs<'a> {
    pub(crate) surroundings: &'a Surroundings,
    /// Whether files of the project may change the prompt.
    pub(crate) trust: Trust,
    pub(crate) tools: &'a [Tool],
    pub(crate) invocation: &'a Invocation,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SystemPrompt {
    /// By name, in their order, for [`crate::message::SystemMessage`].
    pub(crate) sections: Map<String, Value>,
    /// For the user, about files that could not be read.
    pub(crate) warnings: Vec<String>,
}

impl SystemPrompt {
    pub(crate) fn text(&self) -> String {
        let texts = self.sections.values().filter_map(Value::as_str);
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    fn add(&mut self, name: &str, content: &str) {
        if !content.is_empty() {
            self.sections.insert(name.to_owned(), format!("<{name}>\n{content}\n</{name}>").into());
        }
    }

    fn warn(&mut self, path: &Path, problem: &str) {
        self.warnings.push(format!("{}: {problem}", path.display()));
    }
}

/// Builds the prompt. Files that cannot be read are left out, with a warning.
pub(crate) fn system_prompt(inputs: &PromptInputs<'_>) -> SystemPrompt {
    let mut prompt = SystemPrompt::default();
    let custom = match &inputs.invocation.system_prompt {
        Some(given) => text_or_file(&mut prompt, given, &inputs.surroundings.cwd),
        None => discovered(&mut prompt, inputs, "SYSTEM.md"),
    };
    if let Some(text) = custom.filter(|text| !text.is_empty()) {
        prompt.sections.insert("preamble".to_owned(), text.into());
    } else {
        prompt.sections.insert("preamble".to_owned(), PREAMBLE.into());
        prompt.add("tools", &tools(inputs.tools));
        prompt.add("rules", &rules(inputs.tools));
    }
    let appended = if inputs.invocation.append_system_prompt.is_empty() {
        Vec::from_iter(discovered(&mut prompt, inputs, "APPEND_SYSTEM.md"))
    } else {
        let given = inputs.invocation.append_system_prompt.iter();
        given.filter_map(|text| text_or_file(&mut prompt, text, &inputs.surroundings.cwd)).collect()
    };
    prompt.add("addendum", &appended.join("\n\n"));
    if !inputs.invocation.no_context_files {
        let files = context_files::find(inputs.surroundings, &mut prompt.warnings);
        prompt.add("project_context", &context_files::render(&files));
    }
    let reader = ["read", "bash"].into_iter().find(|name| has(inputs.tools, name));
    if let Some(reader) = reader {
        let skills = skills(inputs);
        prompt.warnings.extend(skills.warnings.iter().map(ToString::to_string));
        prompt.add("skills", &render_skills(&skills, reader));
    }
    prompt.add("cwd", &inputs.surroundings.cwd.to_string_lossy());
    prompt
}

const PREAMBLE: &str = "You are an expert coding agent. You work on a task in the user's project \
    on your own: you read files, run commands, edit code and write new files until the task is \
    done, and then say what you found and did.";

const LARGEST: usize = 512 * 1024;

fn has(tools: &[Tool], name: &str) -> bool {
    tools.iter().any(|tool| tool.name == name)
}

fn tools(tools: &[Tool]) -> String {
    let visible = tools.iter().filter(|tool| !tool.snippet.is_empty());
    let lines: Vec<String> =
        visible.map(|tool| format!("- {}: {}", tool.name, tool.snippet)).collect();
    if lines.is_empty() { "(none)".to_owned() } else { lines.join("\n") }
}

fn rules(tools: &[Tool]) -> String {
    let mut rules = Vec::new();
    if has(tools, "bash") && !["grep", "find", "ls"].iter().any(|name| has(tools, name)) {
        rules.push("Use bash to list, search and find files (ls, rg, find)");
    }
    rules.extend(tools.iter().flat_map(|tool| tool.guidelines).map(|rule| rule.trim()));
    rules.push("Be brief in what you say");
    rules.push("Name files by their paths");
    let mut lines: Vec<String> = Vec::new();
    for rule in rules {
        let line = format!("- {rule}");
        if !rule.is_empty() && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.join("\n")
}

/// The text itself, or the content of the file that it names.
fn text_or_file(prompt: &mut SystemPrompt, given: &str, cwd: &Path) -> Option<String> {
    if given.is_empty() {
        return None;
    }
    // A text that is no valid path is no file either.
    let path = cwd.join(given);
    if !path.exists() {
        return Some(given.to_owned());
    }
    read_prompt(prompt, &path).or_else(|| Some(given.to_owned()))
}

/// The content of the project's file of this name, if the project is trusted, else of the user's.
fn discovered(prompt: &mut SystemPrompt, inputs: &PromptInputs<'_>, name: &str) -> Option<String> {
    let project = inputs.surroundings.project_state().prompt(name);
    if inputs.trust.allows() && project.exists() {
        return read_prompt(prompt, &project);
    }
    let user = inputs.surroundings.user_state().prompt(name);
    if user.exists() { read_prompt(prompt, &user) } else { None }
}

fn read_prompt(prompt: &mut SystemPrompt, path: &Path) -> Option<String> {
    match read_text(path, LARGEST) {
        Ok(Some(file)) => {
            if file.is_cut {
                prompt.warn(path, &format!("only its first {LARGEST} bytes are used"));
            }
            Some(file.text)
        }
        Ok(None) => None,
        Err(error) => {
            prompt.warn(path, &format!("it cannot be read: {error}"));
            None
        }
    }
}

fn skills(inputs: &PromptInputs<'_>) -> Skills {
    let found = if inputs.invocation.no_skills {
        Skills::default()
    } else {
        discover_skills(inputs.surroundings, inputs.trust)
    };
    let cwd = &inputs.surroundings.cwd;
    let paths: Vec<PathBuf> = inputs.invocation.skills.iter().map(|path| cwd.join(path)).collect();
    with_skill_paths(found, &paths)
}

fn render_skills(skills: &Skills, reader: &str) -> String {
    let offered: Vec<String> = skills
        .iter()
        .filter(|skill| skill.is_offered)
        .map(|skill| {
            format!(
                "  <skill>\n    <name>{}</name>\n    <description>{}</description>\n    \
                 <location>{}</location>\n  </skill>",
                escape(&skill.name),
                escape(&skill.description),
                escape(&skill.path.to_string_lossy())
            )
        })
        .collect();
    if offered.is_empty() {
        return String::new();
    }
    format!(
        "Skills are instructions for special kinds of tasks. When a task matches the description \
         of one, load its file with {reader} first, and follow it.\nA relative path in a skill is \
         meant from the directory of its file; make it absolute before you use it in a \
         tool.\n\n<available_skills>\n{}\n</available_skills>",
        offered.join("\n")
    )
}

fn escape(text: &str) -> String {
    // The ampersand comes first: the others bring their own.
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&apos;")
}

#[cfg(test)]
mod tests;
