use std::os::unix::fs::{PermissionsExt, symlink};

use protocol::ApiKey;
use tempfile::TempDir;

use super::super::{DefinitionKind, load_definitions};
use super::*;

struct World {
    top: TempDir,
    directories: DefinitionDirectories,
}

impl World {
    fn new() -> World {
        let top = tempfile::tempdir().unwrap();
        let directories = DefinitionDirectories {
            kind: DefinitionKind::Profile,
            global: top.path().join("agent/agent-profiles"),
            project: top.path().join("project/.pi/agent-profiles"),
            claude: Vec::new(),
        };
        World { top, directories }
    }

    fn definition(&self, name: &str, scope: Scope, model: &str) -> Definition {
        let mut definition = Definition::new(name, scope, &self.directories);
        definition.configuration.model = Some(model.to_owned());
        definition
    }

    fn write(&self, scope: Scope, file: &str, text: &str) -> PathBuf {
        let directory = self.directories.of_scope(scope);
        fs::create_dir_all(directory).unwrap();
        fs::write(directory.join(file), text).unwrap();
        directory.join(file)
    }

    fn create(&self, definition: &Definition) -> Result<PathBuf, String> {
        create_definition(&self.directories, definition).map_err(|error| error.to_string())
    }

    fn update(&self, definition: &Definition) -> Result<PathBuf, String> {
        update_definition(&self.directories, definition).map_err(|error| error.to_string())
    }

    fn delete(&self, name: &str) -> Result<Vec<PathBuf>, String> {
        delete_definition(&self.directories, name).map_err(|error| error.to_string())
    }

    fn models(&self) -> Vec<(String, String)> {
        let definitions = load_definitions(&self.directories);
        assert_eq!(definitions.warnings, []);
        definitions
            .iter()
            .map(|definition| {
                (
                    definition.name.clone(),
                    definition.configuration.model.clone().unwrap_or_default(),
                )
            })
            .collect()
    }

    fn files(&self, scope: Scope) -> Vec<String> {
        let entries = fs::read_dir(self.directories.of_scope(scope)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn pair(name: &str, model: &str) -> (String, String) {
    (name.to_owned(), model.to_owned())
}

#[test]
fn a_definition_is_created_privately_and_read_back() {
    let world = World::new();
    for scope in [Scope::Global, Scope::Project] {
        let definition = world.definition("p", scope, "m");
        let path = world.create(&definition).unwrap();
        assert_eq!(path, definition.path);
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        assert_eq!(load_definitions(&world.directories).get("p").unwrap(), &definition);
        assert_eq!(world.files(scope), ["p.md"], "nothing temporary is left");
    }
}

#[test]
fn a_definition_is_created_once_in_each_scope() {
    let world = World::new();
    let path = world.create(&world.definition("p", Scope::Global, "a")).unwrap();
    let expected = format!("Profile \"p\" already exists: {}", path.display());
    assert_eq!(world.create(&world.definition("p", Scope::Global, "b")), Err(expected));
    assert_eq!(world.models(), [pair("p", "a")]);
    world.create(&world.definition("p", Scope::Project, "c")).unwrap();
    assert_eq!(world.models(), [pair("p", "c")]);
}

#[test]
fn what_a_broken_file_holds_is_not_overwritten_by_accident() {
    let world = World::new();
    let path = world.write(Scope::Global, "p.md", "---\nname: [\n---\n");
    let definition = world.definition("p", Scope::Global, "m");
    assert!(world.create(&definition).unwrap_err().contains("already exists"));
    assert_eq!(world.update(&definition), Ok(path));
    assert_eq!(world.models(), [pair("p", "m")]);
}

#[test]
fn an_update_goes_to_the_file_that_defines_the_definition() {
    let world = World::new();
    let path = world.write(Scope::Global, "other.md", "---\nname: p\nmodel: old\n---\n");
    assert_eq!(world.update(&world.definition("p", Scope::Global, "new")), Ok(path.clone()));
    assert_eq!(mode(&path), 0o600);
    assert_eq!(world.files(Scope::Global), ["other.md"]);
    assert_eq!(world.models(), [pair("p", "new")]);
    assert!(world.create(&world.definition("p", Scope::Global, "m")).is_err());
}

#[test]
fn an_update_of_a_scope_without_the_definition_creates_it() {
    let world = World::new();
    world.create(&world.definition("p", Scope::Global, "global")).unwrap();
    world.update(&world.definition("p", Scope::Project, "project")).unwrap();
    assert_eq!(world.models(), [pair("p", "project")]);
    assert_eq!(world.files(Scope::Global), ["p.md"]);
}

#[test]
fn a_file_of_another_definition_is_left_alone() {
    let world = World::new();
    let path = world.write(Scope::Global, "p.md", "---\nname: q\nmodel: q\n---\n");
    let expected =
        format!("Profile \"p\" cannot be saved: {} holds another profile, \"q\"", path.display());
    let definition = world.definition("p", Scope::Global, "p");
    assert_eq!(world.create(&definition), Err(expected.clone()));
    assert_eq!(world.update(&definition), Err(expected));
    assert_eq!(world.delete("p"), Err("Profile \"p\" not found.".to_owned()));
    assert_eq!(world.models(), [pair("q", "q")]);
}

#[test]
fn a_project_gets_no_key() {
    let world = World::new();
    let mut definition = world.definition("p", Scope::Project, "m");
    definition.configuration.api_key = Some(ApiKey::new("sk-secret".to_owned()));
    for error in [world.create(&definition).unwrap_err(), world.update(&definition).unwrap_err()] {
        assert!(error.contains("agent/agent-profiles/") && !error.contains("secret"), "{error}");
    }
    assert!(!world.directories.project.exists());
}

#[test]
fn names_that_are_no_names_write_nothing() {
    let world = World::new();
    for name in ["", "../p", "a/b", "a.b", "."] {
        let definition = world.definition(name, Scope::Global, "m");
        assert!(
            world.create(&definition).unwrap_err().starts_with("Invalid profile name"),
            "{name}"
        );
        assert!(
            world.update(&definition).unwrap_err().starts_with("Invalid profile name"),
            "{name}"
        );
        assert!(world.delete(name).unwrap_err().starts_with("Invalid profile name"), "{name}");
    }
    assert_eq!(fs::read_dir(world.top.path()).unwrap().count(), 0);
}

#[test]
fn a_definition_is_deleted_from_both_scopes() {
    let world = World::new();
    let global = world.create(&world.definition("p", Scope::Global, "a")).unwrap();
    let project = world.create(&world.definition("p", Scope::Project, "b")).unwrap();
    let other = world.write(Scope::Project, "other.md", "---\nname: p\n---\n");
    world.create(&world.definition("q", Scope::Global, "q")).unwrap();
    assert_eq!(world.delete("p"), Ok(vec![global, other, project]));
    assert_eq!(world.models(), [pair("q", "q")]);
    assert_eq!(world.delete("p"), Err("Profile \"p\" not found.".to_owned()));
}

#[test]
fn a_broken_file_is_deleted_by_its_name() {
    let world = World::new();
    let path = world.write(Scope::Global, "p.md", "no frontmatter");
    assert_eq!(world.delete("p"), Ok(vec![path]));
}

#[test]
fn a_link_is_replaced_and_what_it_leads_to_is_left_alone() {
    let world = World::new();
    let target = world.top.path().join("target.md");
    fs::write(&target, "---\nname: p\nmodel: old\n---\n").unwrap();
    let directory = &world.directories.project;
    fs::create_dir_all(directory).unwrap();
    symlink(&target, directory.join("p.md")).unwrap();
    world.update(&world.definition("p", Scope::Project, "new")).unwrap();
    assert_eq!(world.models(), [pair("p", "new")]);
    assert!(fs::read_to_string(&target).unwrap().contains("old"));
}

#[test]
fn a_failure_names_the_file_and_leaves_nothing() {
    let world = World::new();
    fs::write(world.top.path().join("agent"), "a file where a directory must be").unwrap();
    let error = world.create(&world.definition("p", Scope::Global, "m")).unwrap_err();
    assert!(error.contains("agent/agent-profiles cannot be created"), "{error}");
}
