//! Where skills are found, as pi finds them.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Skill, Skills};
use crate::frontmatter::{Document, Field, FileWarning, Value};
use crate::{Scope, Surroundings, Trust, is_planted};

/// What the places of skills depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillPlaces {
    /// The user's agent directory.
    pub agent_dir: PathBuf,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// Where the caller stands.
    pub cwd: PathBuf,
    /// The caller's project.
    pub project_root: PathBuf,
}

impl SkillPlaces {
    /// Those of the caller.
    pub fn of(surroundings: &Surroundings) -> SkillPlaces {
        SkillPlaces {
            agent_dir: surroundings.agent_dir.clone(),
            home: surroundings.home.clone(),
            cwd: surroundings.cwd.clone(),
            project_root: surroundings.project_root().to_owned(),
        }
    }

    /// All directories of skills, in the order in which a name is looked up.
    fn directories(&self) -> Vec<Place> {
        let place = |path, kind, scope| Place { path, kind, scope };
        let of_user = self.home.as_ref().map(|home| home.join(".agents").join("skills"));
        let repository = self.cwd.ancestors().find(|directory| directory.join(".git").exists());
        let mut places =
            vec![place(self.project_root.join(".pi").join("skills"), Kind::Pi, Scope::Project)];
        for directory in self.cwd.ancestors() {
            let agents = directory.join(".agents");
            let path = agents.join("skills");
            if of_user.as_ref() != Some(&path) && !is_planted(&agents) {
                places.push(place(path, Kind::Agents, Scope::Project));
            }
            if Some(directory) == repository {
                break;
            }
        }
        places.push(place(self.agent_dir.join("skills"), Kind::Pi, Scope::Global));
        places.extend(of_user.map(|path| place(path, Kind::Agents, Scope::Global)));
        places
    }
}

/// Finds all skills. Those of a project are left out unless it is trusted, as in pi. Of several
/// with one name, the nearest to the project counts.
pub fn discover_skills(places: &SkillPlaces, trust: Trust) -> Skills {
    let mut discovery = Discovery {
        skills: Skills {
            allowed: vec![places.agent_dir.clone(), places.project_root.clone()],
            ..Skills::default()
        },
        seen: HashSet::new(),
        directories_left: MAXIMAL_DIRECTORIES,
    };
    for place in places.directories().into_iter().filter(|place| place.path.is_dir()) {
        if place.scope == Scope::Project && !trust.allows() {
            let problem = "the skills of this project are not used, because it is not trusted; \
                           trust it with /trust in pi, or run with --approve";
            discovery.warn(&place.path, problem.to_owned());
            continue;
        }
        discovery.search(&place, &place.path, 0);
        discovery.skills.allowed.push(place.path);
    }
    discovery.skills
}

/// Adds the skills that a caller names by their paths, which are files or directories of them.
/// A skill that was found before keeps its name.
pub fn with_skill_paths(skills: Skills, paths: &[PathBuf]) -> Skills {
    let known = skills.iter().map(|skill| real_path(&skill.path)).collect();
    let mut discovery = Discovery { skills, seen: known, directories_left: MAXIMAL_DIRECTORIES };
    for path in paths {
        // The caller may name what he likes, as the user may in his own directories.
        let place = Place { path: path.clone(), kind: Kind::Pi, scope: Scope::Global };
        if path.is_dir() {
            discovery.search(&place, path, 0);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            discovery.add(&place, path.clone());
        } else if path.exists() {
            discovery.warn(path, "it is neither a directory nor a Markdown file".to_owned());
        } else {
            discovery.warn(path, "there is no such skill".to_owned());
        }
    }
    discovery.skills
}

/// A directory of skills.
struct Place {
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
    fn search(&mut self, place: &Place, directory: &Path, depth: usize) {
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
            // What is below belongs to this skill.
            return self.add(place, declared);
        }
        for path in visible_entries(directory) {
            if path.is_dir() {
                self.search(place, &path, depth + 1);
            } else if (place.kind == Kind::Pi) == (depth == 0)
                && path.extension().is_some_and(|extension| extension == "md")
                && path.is_file()
            {
                self.add(place, path);
            }
        }
    }

    fn add(&mut self, place: &Place, path: PathBuf) {
        if !self.is_new(&path) {
            return;
        }
        let is_declared = path.file_name().is_some_and(|name| name == SKILL_FILE);
        let document = match Document::read(&path) {
            Ok(document) => document,
            // Any other Markdown file may simply be no skill.
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
        let named_by_place = || {
            let directory = path.parent().and_then(Path::file_name).unwrap_or_default();
            directory.to_string_lossy().into_owned()
        };
        let name = text(&document.fields, "name")
            .filter(|name| !name.is_empty())
            .map_or_else(named_by_place, str::to_owned);
        if let Some(other) = self.skills.skills.get(&name) {
            let problem = format!(
                "the skill \"{name}\" is not used: {} has the same name",
                other.path.display()
            );
            return self.warn(&path, problem);
        }
        let description = description.to_owned();
        let is_offered = !flag(&document.fields, "disable-model-invocation");
        let skill = Skill { name: name.clone(), description, path, scope: place.scope, is_offered };
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

/// What a directory holds, by name, without what is hidden or belongs to others.
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
