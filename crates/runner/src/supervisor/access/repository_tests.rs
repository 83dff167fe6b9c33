use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

struct World {
    root: TempDir,
}

impl World {
    fn new() -> World {
        World { root: tempfile::tempdir().unwrap() }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The directory of a repository.
    fn git_dir(&self, path: &str) {
        for directory in ["objects", "refs", "logs"] {
            fs::create_dir_all(self.at(path).join(directory)).unwrap();
        }
        self.write(&format!("{path}/HEAD"), "ref: refs/heads/main\n");
    }

    fn around(&self, path: &str) -> Option<Repository> {
        fs::create_dir_all(self.at(path)).unwrap();
        Repository::around(&self.at(path)).unwrap()
    }

    /// The paths below the world, sorted.
    fn names(&self, paths: &[PathBuf]) -> Vec<String> {
        let below = |path: &PathBuf| path.strip_prefix(self.at("")).unwrap().to_owned();
        let mut names: Vec<String> =
            paths.iter().map(|path| below(path).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

#[test]
fn hooks_and_settings_are_kept_and_made_where_they_are_missing() {
    let world = World::new();
    world.git_dir("tree/.git");
    world.git_dir("tree/.git/modules/libs/inner");
    world.write("tree/.git/worktrees/x/gitdir", "");
    for directory in ["tree", "tree/a/b"] {
        let repository = world.around(directory).unwrap();
        assert_eq!(
            world.names(&repository.kept),
            [
                "tree/.git/config",
                "tree/.git/hooks",
                "tree/.git/modules/libs/inner/config",
                "tree/.git/modules/libs/inner/hooks",
                "tree/.git/worktrees"
            ]
        );
        assert_eq!(world.names(&repository.writable), ["tree/.git"]);
        assert_eq!(
            world.names(&repository.redirections),
            [
                "tree/.git/commondir",
                "tree/.git/config.worktree",
                "tree/.git/modules/libs/inner/commondir",
                "tree/.git/modules/libs/inner/config.worktree"
            ]
        );
        assert_eq!((repository.mark, repository.problem), (world.at("tree/.git"), None));
        assert!(world.at("tree/.git/hooks").is_dir());
    }
    world.write("tree/.git/config", "[extensions]\n\tWorktreeConfig = true\n");
    let repository = world.around("tree").unwrap();
    assert!(repository.kept.contains(&world.at("tree/.git/config.worktree")));
}

#[test]
fn what_is_no_repository_is_passed_over_and_a_ruin_is_one() {
    let world = World::new();
    fs::create_dir_all(world.at("plain/.git")).unwrap();
    assert!(world.around("plain").is_none());
    world.write("ruin/.git/config", "");
    assert!(world.around("ruin").is_some());
}

#[test]
fn a_linked_worktree_has_its_part_of_the_repository() {
    let world = World::new();
    world.git_dir("main/.git");
    for name in ["config", "index", "packed-refs", "index.lock"] {
        world.write(&format!("main/.git/{name}"), "");
    }
    for (name, tree) in [("tree", "tree"), ("other", "elsewhere")] {
        let git_dir = format!("main/.git/worktrees/{name}");
        world.write(&format!("{git_dir}/commondir"), "../..\n");
        let back = world.at(&format!("{tree}/.git"));
        world.write(&format!("{git_dir}/gitdir"), &format!("{}\n", back.display()));
        let forth = world.at(&git_dir);
        world.write(&format!("{tree}/.git"), &format!("gitdir: {}\n", forth.display()));
    }
    let repository = world.around("tree").unwrap();
    assert_eq!(repository.problem, None);
    assert_eq!(world.names(&repository.writable), ["main/.git"]);
    assert_eq!(
        world.names(&repository.kept),
        [
            "main/.git/HEAD",
            "main/.git/config",
            "main/.git/hooks",
            "main/.git/index",
            "main/.git/worktrees/other",
            "main/.git/worktrees/tree/commondir",
            "main/.git/worktrees/tree/gitdir",
            "tree/.git"
        ]
    );
}

#[test]
fn a_file_that_leads_elsewhere_is_not_followed() {
    let world = World::new();
    world.git_dir("victim/.git");
    world.write("tree/fake/worktrees/x/commondir", world.at("victim/.git").to_str().unwrap());
    world.write("tree/fake/worktrees/x/gitdir", world.at("tree/.git").to_str().unwrap());
    for led in ["victim/.git", "victim", "tree/fake/worktrees/x", "missing"] {
        world.write("tree/.git", &format!("gitdir: {}\n", world.at(led).display()));
        let repository = world.around("tree").unwrap();
        assert!(repository.writable.is_empty() && repository.data.is_empty(), "{led}");
        assert!(repository.problem.is_some(), "{led}");
    }
    fs::remove_file(world.at("tree/.git")).unwrap();
    symlink(world.at("victim/.git"), world.at("tree/.git")).unwrap();
    let repository = world.around("tree").unwrap();
    assert!(repository.writable.is_empty() && repository.problem.unwrap().contains("is a link"));
    world.write("redirected/.git/config", "");
    world.write("redirected/.git/commondir", "/elsewhere\n");
    let repository = world.around("redirected").unwrap();
    assert!(repository.writable.is_empty() && repository.problem.is_some());
}
