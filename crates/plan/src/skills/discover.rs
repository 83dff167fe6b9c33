//! Where skills are found, as pi finds them.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Skill, Skills};
use crate::frontmatter::{Document, Field, FileWarning, Value};
use crate::{Scope, Surroundings, Trust, is_planted};

/// Finds all skills. Those of a project are left out unless it is trusted, as in pi. Of several
/// with one name, the nearest to the project counts.
pub fn discover_skills(surroundings: &Surroundings, trust: Trust) -> Skills {
    let allowed = vec![surroundings.agent_dir.clone(), surroundings.project_root().to_owned()];
    let mut discovery = Discovery {
        skills: Skills { allowed, ..Skills::default() },
        seen: HashSet::new(),
        directories_left: MAXIMAL_DIRECTORIES,
    };
    let directories = directories(surroundings);
    for directory in directories.into_iter().filter(|directory| directory.path.is_dir()) {
        if directory.scope == Scope::Project && !trust.allows() {
            let problem = "the skills of this project are not used, because it is not trusted; \
                           trust it with /trust in pi, or run with --approve";
            discovery.warn(&directory.path, problem.to_owned());
            continue;
        }
        discovery.search(&directory, &directory.path, 0);
        discovery.skills.allowed.push(directory.path);
    }
    discovery.skills
}

/// Adds the skills that a caller names by their paths, which are files or directories of them.
/// A skill that was found before keeps its name.
pub fn with_skill_paths(skills: Skills, paths: &[PathBuf]) -> Skills {
    let known = skills.iter().map(|skill| real_path(&skill.path)).collect();
    let mut discovery = Discovery { skills, seen: known, directories_left: MAXIMAL_DIRECTORIES };
    for path in paths {
        // A caller may name any directory, as the user may in a directory of their own.
        let named = SkillDirectory { path: path.clone(), kind: Kind::Pi, scope: Scope::Global };
        if path.is_dir() {
            discovery.search(&named, path, 0);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            discovery.add(&named, path.clone());
        } else if path.exists() {
            discovery.warn(path, "it is neither a directory nor a Markdown file".to_owned());
        } else {
            discovery.warn(path, "there is no such skill".to_owned());
        }
    }
    discovery.skills
}

/// All directories of skills, in the order in which a name is looked up.
fn directories(surroundings: &Surroundings) -> Vec<SkillDirectory> {
    let directory = |path, kind, scope| SkillDirectory { path, kind, scope };
    let agents_of = |directory: &Path| directory.join(".agents").join("skills");
    let of_user = surroundings.home.as_deref().map(agents_of);
    let cwd = &surroundings.cwd;
    let repository = cwd.ancestors().find(|directory| directory.join(".git").exists());
    let mut directories =
        vec![directory(surroundings.project_state().skills(), Kind::Pi, Scope::Project)];
    for above in cwd.ancestors() {
        let path = agents_of(above);
        if of_user.as_ref() != Some(&path) && !path.parent().is_some_and(is_planted) {
            directories.push(directory(path, Kind::Agents, Scope::Project));
        }
        if Some(above) == repository {
            break;
        }
    }
    directories.push(directory(surroundings.user_state().skills(), Kind::Pi, Scope::Global));
    directories.extend(of_user.map(|path| directory(path, Kind::Agents, Scope::Global)));
    directories
}

struct SkillDirectory {
    path: PathBuf,
    kind: Kind,
    scope: Scope,
}

/// Which Markdown files are skills besides those called `SKILL.md`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Those in the directory itself.
    Pi,
    /// Those in the directories below.
    Agents,
}

/// Symbolic links can make a tree out of anything, the whole file system too.
const MAXIMAL_DIRECTORIES: usize = 5_000;
const MAXIMAL_DEPTH: usize = 16;
const SKILL_FILE: &str = "SKILL.md";

struct Discovery {
    skills: Skills,
    /// The real paths of files and directories, each of which counts once.
    seen: HashSet<PathBuf>,
    directories_left: usize,
}

impl Discovery {
    fn search(&mut self, found_in: &SkillDirectory, directory: &Path, depth: usize) {
        if depth > MAXIMAL_DEPTH || !self.is_new(directory) {
            return;
        }
        let Some(left) = self.directories_left.checked_sub(1) else {
            return;
        };
        self.directories_left = left;
        if left == 0 {
            let problem = format!("only {MAXIMAL_DIRECTORIES} directories are searched for skills");
            self.warn(directory, problem);
        }
        let declared = directory.join(SKILL_FILE);
        if declared.is_file() {
            // The directories below belong to this skill.
            return self.add(found_in, declared);
        }
        for path in visible_entries(directory) {
            if path.is_dir() {
                self.search(found_in, &path, depth + 1);
            } else if (found_in.kind == Kind::Pi) == (depth == 0)
                && path.extension().is_some_and(|extension| extension == "md")
                && path.is_file()
            {
                self.add(found_in, path);
            }
        }
    }

    fn add(&mut self, found_in: &SkillDirectory, path: PathBuf) {
        if !self.is_new(&path) {
            return;
        }
        let is_declared = path.file_name().is_some_and(|name| name == SKILL_FILE);
        let document = match Document::read(&path) {
            Ok(document) => document,
            // Other Markdown files need not be skills.
            Err(_) if !is_declared => return,
            Err(error) => return self.skills.warnings.push(error.into_warning(&path)),
        };
        if is_declared && let Some(line) = document.repaired_lines.first() {
            let problem = "a value with a colon in it must be in quotes: pi cannot read this skill";
            let warning =
                FileWarning { path: path.clone(), line: Some(*line), problem: problem.to_owned() };
            self.skills.warnings.push(warning);
        }
        let description = text(&document.fields, "description");
        let Some(description) = description.filter(|description| !description.trim().is_empty())
        else {
            if is_declared {
                self.warn(&path, "the skill has no \"description\" and is not used".to_owned());
            }
            return;
        };
        let named_by_directory = || {
            let directory = path.parent().and_then(Path::file_name).unwrap_or_default();
            directory.to_string_lossy().into_owned()
        };
        let name = text(&document.fields, "name")
            .filter(|name| !name.is_empty())
            .map_or_else(named_by_directory, str::to_owned);
        if let Some(other) = self.skills.skills.get(&name) {
            let problem = format!(
                "the skill \"{name}\" is not used: {} has the same name",
                other.path.display()
            );
            return self.warn(&path, problem);
        }
        let description = description.to_owned();
        let is_offered = !flag(&document.fields, "disable-model-invocation");
        let skill =
            Skill { name: name.clone(), description, path, scope: found_in.scope, is_offered };
        self.skills.skills.insert(name, skill);
    }

    fn is_new(&mut self, path: &Path) -> bool {
        self.seen.insert(real_path(path))
    }

    fn warn(&mut self, path: &Path, problem: String) {
        let path = path.to_owned();
        self.skills.warnings.push(FileWarning { path, line: None, problem });
    }
}

fn real_path(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The entries of a directory, by name, without hidden ones and packages.
fn visible_entries(directory: &Path) -> Vec<PathBuf> {
    // A directory that cannot be read has no skills for the child either.
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let is_visible = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| !name.starts_with('.') && name != "node_modules")
    };
    let mut paths: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(is_visible).collect();
    paths.sort();
    paths
}

fn flag(fields: &[Field], name: &str) -> bool {
    fields.iter().any(|field| field.name == name && matches!(field.value, Value::Boolean(true)))
}

fn text<'a>(fields: &'a [Field], name: &str) -> Option<&'a str> {
    let field = fields.iter().find(|field| field.name == name)?;
    match &field.value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}
